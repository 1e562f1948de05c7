import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { keyOrder } from "./key-order.ts";
import { pathSeconds } from "./remaining.ts";
import { waitedSeconds } from "./service.ts";

/**
 * Astraea-like (arXiv 2512.14142, formula ours): descending ((wait + s)/s) x (1 + io); wait over all rounds, s = expected
 * LLM seconds to the next tool wait, io = expected tool share of the remaining time.
 */
export const astraea: KeyOrder = keyOrder("astraea", { timeVarying: true }, (view) => (request) => {
  const s = Math.max(1e-9, view.estimator.callServiceSeconds(request));
  return -((waitedSeconds(view, request) + s) / s) * (1 + toolShare(view, request));
});

/** Mean tool wait x chance of another round, against that plus the remaining path; within [0, 1). */
export function toolShare(view: View, request: RequestState): number {
  const task = view.state.tasks.get(request.spec.task);
  const stage = task?.stages.get(request.spec.stage);
  if (task === undefined || stage === undefined) return 0;
  const waits = view.estimator.toolWaits(task.tenant, stage.agent);
  if (waits.length === 0) return 0;
  const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length;
  const more = Math.min(0.99, view.estimator.anotherRoundProbability(task, stage));
  const tool = (mean * more) / (1 - more);
  const whole = tool + pathSeconds(view, request);
  return whole > 0 ? tool / whole : 0;
}
