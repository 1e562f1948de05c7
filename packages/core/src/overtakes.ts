import type { PolicyOptions } from "./policy/policy.ts";
import { ADMISSION_LOG, type RequestState, type State } from "./state.ts";
import type { View } from "./view.ts";

/** Books an admission: `state.admittedSeqs` holds the arrival numbers of everyone ever admitted, ascending, the latest 4,096. */
export function noteAdmission(state: State, request: RequestState): void {
  const { admittedSeqs } = state;
  const { readySeq } = request;
  const at = admittedSeqs.length - laterThan(state, readySeq);
  if (admittedSeqs[at - 1] === readySeq) return;
  admittedSeqs.splice(at, 0, readySeq);
  if (admittedSeqs.length > ADMISSION_LOG) admittedSeqs.shift();
}

/** How many of those admitted so far came later than this arrival number. */
function laterThan({ admittedSeqs }: State, readySeq: number): number {
  let low = 0;
  let high = admittedSeqs.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (admittedSeqs[middle]! > readySeq) high = middle;
    else low = middle + 1;
  }
  return admittedSeqs.length - low;
}

/** Requests that came later and were admitted while this one waited: what passed it while it ran is not counted. */
export function overtakesOf(state: State, request: RequestState): number {
  return laterThan(state, request.readySeq) - request.passedWhileRunning;
}

/** Called as a request leaves the running set for the queue again: whoever came later and started meanwhile passed nobody. */
export function resumeWaiting(state: State, request: RequestState): void {
  request.passedWhileRunning = laterThan(state, request.readySeq) - request.overtakenAtAdmission;
}

/** The limit on overtakes of one decision, kept while its plan grows (K06). */
export interface OvertakeLimit {
  /** Overtaken as often as allowed: they head the order, in queue order. */
  readonly due: readonly RequestState[];
  /** False: somebody who came earlier and is not taken has been overtaken as often as allowed. */
  allows(request: RequestState): boolean;
  /** True: somebody refused before is allowed now. */
  take(request: RequestState): boolean;
  /** Starts another plan of the same decision. */
  reset(): void;
}

/** null: no limit. O(waiting) comparisons, plus per request taken the few that are near the limit. */
export function overtakeLimit(view: View, { maxOvertakes }: PolicyOptions): OvertakeLimit | null {
  if (maxOvertakes === null) return null;
  const reach = Math.min(view.slots + view.running.length, view.waiting.length);
  const near: { readonly request: RequestState; readonly before: number; more: number; taken: boolean }[] = [];
  const least = maxOvertakes - reach;
  const { admittedSeqs } = view.state;
  /** So many have come later than whoever has a smaller arrival number than this. */
  const late = least <= 0 ? Infinity : (admittedSeqs[admittedSeqs.length - least] ?? -Infinity);
  for (const request of view.waiting) {
    if (request.readySeq >= late) continue;
    const before = overtakesOf(view.state, request);
    if (before >= least) near.push({ request, before, more: 0, taken: false });
  }
  /** Arrival number of the first one nobody may pass. */
  let bar = Infinity;
  const setBar = (): void => {
    bar = Infinity;
    for (const { request, before, more, taken } of near)
      if (!taken && before + more >= maxOvertakes) bar = Math.min(bar, request.readySeq);
  };
  setBar();
  return {
    due: near
      .filter(({ before }) => before >= maxOvertakes)
      .map(({ request }) => request)
      .toSorted((a, b) => a.readySeq - b.readySeq),
    allows: (request) => request.readySeq <= bar,
    take(request) {
      if (near.length === 0) return false;
      const before = bar;
      for (const one of near) {
        if (one.request === request) one.taken = true;
        else if (one.request.readySeq < request.readySeq) one.more += 1;
      }
      setBar();
      return bar > before;
    },
    reset() {
      for (const one of near) {
        one.more = 0;
        one.taken = false;
      }
      setBar();
    },
  };
}
