import type { Profile } from "../model/profile.ts";
import { decodeSeconds, prefillSeconds } from "../model/step-time.ts";
import { row, type Facts, type ValidationRow } from "./facts.ts";
import { servingRows } from "./serving.ts";
import { traceRows } from "./trace.ts";

export interface ValidationInput {
  /** Parsed `profiles/serving-points.json`. */
  readonly facts: Facts;
  /** Every profile that the facts name. */
  readonly profiles: Readonly<Record<string, Profile>>;
  /** Text of the RTX 4090 run's `requests.jsonl`; absent: its rows are left out. */
  readonly rtx4090RequestsJsonl?: string;
}

/** The engine model beside everything published that it is judged by. A miss is a miss: `pass` false. */
export function validate(input: ValidationInput): ValidationRow[] {
  const { facts } = input;
  const trace = input.rtx4090RequestsJsonl;
  return [
    ...closedFormRows(facts, profileOf(input, facts.closedForms.profile)),
    ...facts.serving.flatMap((point) => servingRows(point, profileOf(input, point.profile))),
    ...facts.decodeHoldOuts.map((point) => {
      const ms = decodeSeconds(profileOf(input, point.profile), point.sequences, point.contextTokens) * 1000;
      return row(point.case, "stepMs", point.measuredMs, ms, null);
    }),
    ...(trace === undefined ? [] : traceRows(facts.trace, profileOf(input, facts.trace.profile), trace)),
  ];
}

/** Section 3.3: what one step alone must cost. */
export function closedFormRows(facts: Facts, profile: Profile): ValidationRow[] {
  const { prefill, decode, tolerancePct } = facts.closedForms;
  return [
    ...prefill.map(([cached, fresh, ms]) =>
      row(`prefill ${cached} cached + ${fresh}`, "stepMs", ms, prefillSeconds(profile, fresh, cached) * 1000, tolerancePct),
    ),
    ...decode.map(([sequences, context, ms]) =>
      row(`decode ${sequences} x ${context}`, "stepMs", ms, decodeSeconds(profile, sequences, context) * 1000, tolerancePct),
    ),
  ];
}

function profileOf(input: ValidationInput, name: string): Profile {
  const profile = input.profiles[name];
  if (profile === undefined) throw new RangeError(`validation needs profile ${name}`);
  return profile;
}
