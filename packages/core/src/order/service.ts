import { historyOf } from "../history.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** LLM service of this call so far, seconds at reference speed: what is in KV prefilled, what it generated decoded. */
export function servedSeconds(view: View, request: RequestState): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = view.state.config.speeds;
  return p * request.filledTokens + h * request.decodedTokens;
}

/** Seconds of the program's completed calls. */
export function completedSeconds(view: View, request: RequestState): number {
  const task = view.state.tasks.get(request.spec.task);
  if (task === undefined) return 0;
  let live = 0;
  for (const stage of task.stages.values()) {
    const call = stage.request === null ? undefined : view.state.requests.get(stage.request);
    if (call !== undefined) live += servedSeconds(view, call);
  }
  return Math.max(0, task.attainedSeconds - live);
}

/** Seconds the program's calls have waited for admission, all rounds; without a history those of this call. */
export function waitedSeconds(view: View, request: RequestState): number {
  const history = historyOf(view.state);
  const task = history?.tasks.get(request.spec.task);
  if (history === null || task === undefined) return Math.max(0, view.nowSeconds - request.readySeconds);
  let seconds = task.waitedSeconds;
  for (const stage of view.state.tasks.get(request.spec.task)?.stages.values() ?? []) {
    const since = stage.request === null ? null : (history.calls.get(stage.request)?.waitingSince ?? null);
    if (since !== null) seconds += Math.max(0, view.nowSeconds - since);
  }
  return seconds;
}
