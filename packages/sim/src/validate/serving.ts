import type { RulesOptions } from "../engine/build.ts";
import type { Profile } from "../model/profile.ts";
import { createRng } from "../rng.ts";
import { simulate, type SimResult } from "../simulate.ts";
import { mean, weightedMean, weightedQuantile } from "../stats.ts";
import type { SimTask } from "../task.ts";
import { row, type DrawnLengths, type ServingMetric, type ServingPoint, type ValidationRow } from "./facts.ts";

const PLAIN = { name: "plain", prefixTokens: 0 };

/** Rows of one published run, one set a seed. `rulesOptions` switches single rules off to show that they matter. */
export function servingRows(point: ServingPoint, profile: Profile, rulesOptions: RulesOptions = {}): ValidationRow[] {
  const { lengths } = point;
  if (lengths.kind === "fixed") {
    const one = [lengths.input, lengths.output] as const;
    return compare(
      point,
      point.case,
      run(
        point,
        profile,
        rulesOptions,
        Array.from({ length: point.requests }, () => one),
      ),
    );
  }
  return lengths.seeds.flatMap((seed) =>
    compare(point, `${point.case}, seed ${seed}`, run(point, profile, rulesOptions, drawLengths(lengths, point.requests, seed))),
  );
}

/** Single calls that all arrive at the times given (default 0). */
export function singleCalls(
  lengths: readonly (readonly [input: number, output: number])[],
  arrivals?: readonly number[],
): SimTask[] {
  return lengths.map(([promptTokens, outputTokens], i) => ({
    id: `r${String(i).padStart(6, "0")}`,
    arrivalSeconds: arrivals?.[i] ?? 0,
    workflow: null,
    graph: null,
    stages: [{ id: "call", agent: PLAIN.name, rounds: [{ promptTokens, outputTokens, toolWaitSeconds: 0 }] }],
  }));
}

export function drawLengths(shape: DrawnLengths, count: number, seed: number): (readonly [number, number])[] {
  const rng = createRng(seed);
  const inputs = draw(rng.split("inputs"), count, shape.inputSigma, shape.inputClip, shape.inputMean);
  const outputs = draw(rng.split("outputs"), count, shape.outputSigma, shape.outputClip, shape.outputMean);
  return inputs.map((input, i) => [input, outputs[i]!] as const);
}

function draw(rng: ReturnType<typeof createRng>, count: number, sigma: number, clip: number, wanted: number): number[] {
  const median = wanted * Math.exp(-(sigma ** 2) / 2);
  const raw = Array.from({ length: count }, () => Math.min(clip, rng.lognormal(median, sigma)));
  const scale = wanted / mean(raw);
  return raw.map((value) => Math.max(1, Math.round(value * scale)));
}

function run(
  point: ServingPoint,
  profile: Profile,
  rulesOptions: RulesOptions,
  lengths: readonly (readonly [number, number])[],
): SimResult {
  const { budgetTokens: budget, rules } = point;
  const tasks = singleCalls(lengths);
  return simulate({ profile, budget, rules, rulesOptions, agents: [PLAIN], tasks, record: { gaps: true, log: "none" } });
}

function compare(point: ServingPoint, name: string, result: SimResult): ValidationRow[] {
  const { gapSeconds, gapCounts } = result.recorder;
  const got: Record<ServingMetric, () => number> = {
    totalSeconds: () => result.endSeconds,
    itlMedianMs: () => weightedQuantile(gapSeconds, gapCounts, 0.5) * 1000,
    itlMeanMs: () => weightedMean(gapSeconds, gapCounts) * 1000,
    itlP99Ms: () => weightedQuantile(gapSeconds, gapCounts, 0.99) * 1000,
    ttftMeanSeconds: () => mean(result.calls.map((call) => call.firstTokenSeconds - call.readySeconds)),
    peakTokensPerSecond: () => result.recorder.peakTokensPerSecond(),
  };
  return (Object.entries(point.measured) as [ServingMetric, number][]).map(([metric, measured]) =>
    row(name, metric, measured, got[metric](), point.tolerancePct[metric] ?? null),
  );
}
