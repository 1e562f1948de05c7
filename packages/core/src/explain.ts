import type { State } from "./state.ts";

export interface QueueHistory {
  /** Decisions that admitted something while this request stayed waiting. */
  readonly passes: number;
  /** Requests that came later and were admitted first, oldest admission first; from the last 4,096 admissions. */
  readonly overtakenBy: readonly string[];
  readonly preemptions: number;
  readonly refusals: number;
}

/** How a live request fared in the queue so far; null when it is not live. Read it before its terminal event. */
export function queueHistory(state: State, requestId: string): QueueHistory | null {
  const request = state.requests.get(requestId);
  if (request === undefined) return null;
  const until = request.admittedSeconds === null ? Infinity : request.admitSeq;
  const overtakenBy = state.admissions
    .filter((other) => other.readySeq > request.readySeq && other.admitSeq < until)
    .map((other) => other.request);
  const passes = (request.admittedSeconds === null ? state.admittingDecisions : request.passesAtAdmission) - request.passesMark;
  return { passes, overtakenBy: [...new Set(overtakenBy)], preemptions: request.preemptions, refusals: request.refusals };
}
