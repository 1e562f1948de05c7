import { frameKey } from "../frame-key.ts";
import { emptyDifficulty } from "../estimate/difficulty.ts";
import { observeStage, profileKeys } from "../estimate/profile.ts";
import type { State, TaskState } from "../state.ts";
import { fresh } from "./builders.ts";

/** A state in which a token decoded is a second and prompts cost nothing, so that X = So. */
export function secondsState(): State {
  return fresh({ speeds: { prefillSecondsPerToken: 0, decodeSecondsPerToken: 1 } });
}

/** Teaches stage `id` of tenant x these lengths, in seconds of `secondsState`; at least eight, so that no prior is mixed in. */
export function teach(state: State, id: string, seconds: readonly number[], factors?: readonly number[]): void {
  seconds.forEach((x, i) => observeStage(state.profile, profileKeys("x", id, id), [0, x, 0, x * x, 0, 1, factors?.[i] ?? 1], x));
}

export function repeat(values: readonly number[], times = Math.ceil(8 / values.length)): number[] {
  return Array.from({ length: times }, () => values).flat();
}

/** Opens the gates of the difficulty model for tenant x with s_d^2 near 0.25 and s_o^2 near 0.1. */
export function openDifficulty(state: State): void {
  state.profile.difficulty.set(frameKey("x"), {
    ...emptyDifficulty(),
    tasks: 100,
    calls: 400,
    calls2: 1_600,
    within: 30,
    between: 109,
    total: 0,
  });
}

export function task(state: State, id = "t"): TaskState {
  return state.tasks.get(id)!;
}
