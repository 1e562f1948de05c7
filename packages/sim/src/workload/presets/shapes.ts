import type { Carry, RoundPlan, StagePlan } from "../preset.ts";
import type { SimAgent } from "../../task.ts";
import { fixed, spread, type Distribution } from "../distribution.ts";

/** agents({ A: 4_000, B: 2_000 }). */
export function agents(prefixTokens: Readonly<Record<string, number>>): SimAgent[] {
  return Object.entries(prefixTokens).map(([name, tokens]) => ({ name, prefixTokens: tokens }));
}

export interface Lengths {
  readonly prompt: Distribution | number;
  readonly output: Distribution | number;
  readonly carry?: Carry;
  readonly rounds?: RoundPlan;
}

const tokens = (length: Distribution | number): Distribution => (typeof length === "number" ? fixed(length) : length);

export function stage(id: string, agent: string, after: readonly string[], lengths: Lengths): StagePlan {
  const { prompt, output, carry, rounds } = lengths;
  return {
    id,
    agent,
    after,
    prompt: tokens(prompt),
    output: tokens(output),
    ...(carry === undefined ? {} : { carry }),
    ...(rounds === undefined ? {} : { rounds }),
  };
}

/** One stage after the other. An agent that comes again gets the ids `TL`, `TL2`, `TL3`. */
export function chain(steps: readonly (readonly [agent: string, lengths: Lengths])[]): StagePlan[] {
  const visits = new Map<string, number>();
  const out: StagePlan[] = [];
  for (const [agent, lengths] of steps) {
    const visit = (visits.get(agent) ?? 0) + 1;
    visits.set(agent, visit);
    const before = out.at(-1);
    out.push(stage(visit === 1 ? agent : `${agent}${visit}`, agent, before === undefined ? [] : [before.id], lengths));
  }
  return out;
}

/** first -> {middle} -> last. */
export function forkJoin(first: StagePlan, middle: readonly StagePlan[], last: StagePlan): StagePlan[] {
  return [first, ...middle.map((plan) => ({ ...plan, after: [first.id] })), { ...last, after: middle.map(({ id }) => id) }];
}

/** The same stages with lognormal lengths around the same means. */
export function varied(stages: readonly StagePlan[], cv: { readonly prompt: number; readonly output: number }): StagePlan[] {
  const around = (length: Distribution, by: number, min: number): Distribution =>
    length.kind === "fixed" ? spread(length.value, by, min) : length;
  return stages.map((plan) => ({
    ...plan,
    prompt: cv.prompt > 0 ? around(plan.prompt, cv.prompt, 32) : plan.prompt,
    output: cv.output > 0 ? around(plan.output, cv.output, 8) : plan.output,
  }));
}
