import type { Estimator } from "../estimate/estimator.ts";
import type { RoundGain } from "../estimate/options.ts";
import type { StageState, TaskState } from "../state.ts";
import { NOTHING, partSeconds, type Finished, type JointPath, type Part } from "./joint-path.ts";
import type { JointSamples } from "./joint-samples.ts";

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

/** Storage of one question: the longest path of each sample so far. */
let longest = new Float64Array(64);

/** Mean over the joint samples of the longest path from any open end. */
function expectation({ parts, joint, idleSeconds }: JointPath, finished: Finished): number {
  if (parts.length === 0) return idleSeconds;
  const { count, weights } = joint;
  if (longest.length < count) longest = new Float64Array(count);
  longest.fill(0, 0, count);
  for (const part of parts) lengthen(part, joint, finished);
  let sum = 0;
  if (weights === null) {
    for (let m = 0; m < count; m++) sum += longest[m]!;
    return sum / count;
  }
  for (let m = 0; m < count; m++) sum += longest[m]! * weights[m]!;
  return sum;
}

/** The loop of single stages is spelled out: it is what every gain of a decision runs through. */
function lengthen(part: Part, joint: JointSamples, finished: Finished): void {
  const { count, values } = joint;
  if (part.forward !== null) {
    for (let m = 0; m < count; m++) longest[m] = Math.max(longest[m]!, partSeconds(part, joint, m, finished));
    return;
  }
  const slot = part.slots[0]!;
  const { behind } = part;
  const gone = finished.wholly?.(slot) === true ? Infinity : slot === finished.slot ? finished.upToSeconds : 0;
  const at = slot * count;
  for (let m = 0; m < count; m++) {
    const left = values[at + m]! - gone;
    const seconds = left > 0 ? behind[m]! + left : behind[m]!;
    if (seconds > longest[m]!) longest[m] = seconds;
  }
}
