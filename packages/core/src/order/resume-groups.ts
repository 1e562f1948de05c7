import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import { dynamicTokens, type RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { keyOrder } from "./key-order.ts";

/** A new program starts beside paused ones only after it waited one tick. */
const TICK_SECONDS = 5;

/**
 * Resume order of ThunderAgent (arXiv 2602.13692): programs with history before new ones, each by ascending tokens, every
 * one that still fits; whoever waited `forcedResumeSeconds` heads the queue. A new program waits while others are paused.
 */
export function resumeGroups(options: AllOptions): KeyOrder {
  return {
    ...keyOrder("resume-groups", { timeVarying: true }, (view) => (request) => {
      const forced = view.nowSeconds - request.readySeconds >= options.forcedResumeSeconds;
      return [forced ? 0 : 1, hasHistory(view, request) ? 0 : 1, dynamicTokens(request)];
    }),
    gate(view) {
      const paused = new Set(view.waiting.filter((request) => hasHistory(view, request)));
      return {
        refuse(request) {
          if (paused.size === 0 || paused.has(request) || view.running.length === 0) return null;
          return view.nowSeconds - request.readySeconds < TICK_SECONDS ? "paused" : null;
        },
        take: (request) => void paused.delete(request),
      };
    },
  };
}

/** Not the first call of its program. */
function hasHistory(view: View, request: RequestState): boolean {
  const task = view.state.tasks.get(request.spec.task);
  return task !== undefined && (request.preemptions > 0 || task.callsStarted > task.live);
}
