import type { Estimator } from "../estimate/estimator.ts";
import type { RoundGain } from "../estimate/options.ts";
import type { StageState, TaskState } from "../state.ts";
import { NOTHING, partSeconds, type Finished, type JointPath } from "./joint-path.ts";

/** L_i(H) of one task, read from its frozen joint samples. H = stages hypothetically completed. */
export interface TaskPath {
  /** Remaining path in seconds; never negative (Eq. 5). The expectation is outside the maximum. */
  seconds(completed?: Completed): number;
  /** E[Z] of a stage, seconds; 0 for unknown stages. */
  residual(stage: string): number;
  /**
   * Delta(stage | H): what finishing it now takes off L, given `completed`; seconds, >= 0 (Eq. 6). `scope` call: only the
   * service of its live call is finished. Telescopes with `completed` in scope stage.
   */
  delta(stage: string, completed?: Completed, scope?: RoundGain): number;
}

/** Whether a stage counts as completed; undefined: none does. */
export type Completed = ((stage: string) => boolean) | undefined;

/** Remaining path of a task: O(samples * frontier) per question, without allocation; the samples are those of the estimator. */
export function taskPath(task: TaskState, estimator: Estimator): TaskPath {
  const path = estimator.jointPath(task);
  const lengths = estimator.lengths(task);
  const { names } = path;
  let untouched: number | null = null;

  const seconds = (completed: Completed): number => {
    if (completed !== undefined) return expectation(path, { ...NOTHING, wholly: (slot) => completed(names.get(slot)!) });
    return (untouched ??= expectation(path, NOTHING));
  };

  return {
    seconds,
    residual(id) {
      const slot = lengths.slots.get(id);
      return slot === undefined ? 0 : lengths.mean[slot]!;
    },
    delta(id, completed, scope = estimator.options.roundGain) {
      const slot = lengths.slots.get(id);
      if (slot === undefined || !names.has(slot)) return 0;
      const wholly = completed === undefined ? null : (at: number): boolean => completed(names.get(at)!);
      const upToSeconds = scope === "stage" ? Infinity : liveCallSeconds(task.stages.get(id)!, estimator);
      return Math.max(0, seconds(completed) - expectation(path, { wholly, slot, upToSeconds }));
    },
  };
}

function liveCallSeconds(stage: StageState, estimator: Estimator): number {
  const live = estimator.liveCall(stage);
  return live === null ? 0 : estimator.callServiceSeconds(live);
}

/** Mean over the joint samples of the longest path from any open end. */
function expectation({ parts, joint, idleSeconds }: JointPath, finished: Finished): number {
  if (parts.length === 0) return idleSeconds;
  const { count, weights } = joint;
  let sum = 0;
  for (let m = 0; m < count; m++) {
    let longest = 0;
    for (let i = 0; i < parts.length; i++) {
      const seconds = partSeconds(parts[i]!, joint, m, finished);
      if (seconds > longest) longest = seconds;
    }
    sum += weights === null ? longest / count : longest * weights[m]!;
  }
  return sum;
}
