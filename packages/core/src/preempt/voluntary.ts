import type { Preempt, PolicyOptions } from "../policy/policy.ts";
import { generatedTokens, type RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** Only the engine's overflow rule preempts. */
export const overflowOnly: Preempt = { id: "overflow", voluntary: false, eligible: () => false };

/** Requests whose prefix leaves the chosen set are preempted; `victimGuard` limits who may be (algorithm 3.3). */
export const setLeave: Preempt = { id: "set-leave", voluntary: true, eligible: eligibleVictim };

/** Decoding, not past `young` of its progress, and preempted voluntarily fewer than `times` in its stage (vector V30). */
function eligibleVictim(view: View, request: RequestState, options: PolicyOptions): boolean {
  const guard = options.victimGuard;
  if (guard === null) return true;
  const generated = generatedTokens(request);
  if (generated <= 0) return false;
  const task = view.state.tasks.get(request.spec.task);
  const stage = task?.stages.get(request.spec.stage);
  if ((stage?.voluntaryPreemptions ?? request.preemptions) >= guard.times) return false;
  return victimProgress(view, request, options.guardScope) <= guard.young;
}

/** max(y/o, e/(e + E[Z])) for scope `stage`, y/o for scope `call`. */
export function victimProgress(view: View, request: RequestState, scope: "stage" | "call"): number {
  const call = generatedTokens(request) / Math.max(1, view.estimator.expectedOutputTokens(request));
  const stage = view.state.tasks.get(request.spec.task)?.stages.get(request.spec.stage);
  if (scope === "call" || stage === undefined) return call;
  const residual = view.path(request.spec.task)?.residual(request.spec.stage) ?? 0;
  const whole = stage.attainedSeconds + residual;
  return Math.max(call, whole > 0 ? stage.attainedSeconds / whole : 0);
}
