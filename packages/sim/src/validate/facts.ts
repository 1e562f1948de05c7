import type { RulesId } from "../rules/rules.ts";

export interface FixedLengths {
  readonly kind: "fixed";
  readonly input: number;
  readonly output: number;
}

/** Lengths are not published: drawn, clipped, rescaled to the published means (section 7.1). */
export interface DrawnLengths {
  readonly kind: "lognormal";
  readonly inputMean: number;
  readonly inputSigma: number;
  readonly inputClip: number;
  readonly outputMean: number;
  readonly outputSigma: number;
  readonly outputClip: number;
  readonly seeds: readonly number[];
}

export type ServingMetric = "totalSeconds" | "itlMedianMs" | "itlMeanMs" | "itlP99Ms" | "ttftMeanSeconds" | "peakTokensPerSecond";

/** One published serving run: every request arrives at t = 0. A metric without tolerance is printed and not judged. */
export interface ServingPoint {
  readonly case: string;
  readonly profile: string;
  readonly rules: RulesId;
  readonly budgetTokens: number;
  readonly requests: number;
  readonly lengths: FixedLengths | DrawnLengths;
  readonly measured: Readonly<Partial<Record<ServingMetric, number>>>;
  readonly tolerancePct: Readonly<Partial<Record<ServingMetric, number>>>;
}

/** The parsed `profiles/serving-points.json`. */
export interface Facts {
  readonly closedForms: {
    readonly profile: string;
    readonly tolerancePct: number;
    /** [cached tokens, new tokens, ms] */
    readonly prefill: readonly (readonly [number, number, number])[];
    /** [sequences, context, ms] */
    readonly decode: readonly (readonly [number, number, number])[];
  };
  readonly serving: readonly ServingPoint[];
  readonly decodeHoldOuts: readonly {
    readonly case: string;
    readonly profile: string;
    readonly sequences: number;
    readonly contextTokens: number;
    readonly measuredMs: number;
  }[];
  readonly trace: {
    readonly case: string;
    readonly profile: string;
    readonly rules: RulesId;
    readonly budgetTokens: number;
    readonly meanTolerancePct: number;
    readonly quantileTolerancePct: number;
  };
}

export interface ValidationRow {
  readonly case: string;
  readonly metric: string;
  readonly measured: number;
  readonly simulated: number;
  readonly errorPct: number;
  /** null: a hold-out, printed and never judged. */
  readonly tolerancePct: number | null;
  readonly pass: boolean | null;
}

export function row(
  name: string,
  metric: string,
  measured: number,
  simulated: number,
  tolerancePct: number | null,
): ValidationRow {
  const errorPct = (simulated / measured - 1) * 100;
  const pass = tolerancePct === null ? null : Math.abs(errorPct) <= tolerancePct;
  return { case: name, metric, measured, simulated, errorPct, tolerancePct, pass };
}
