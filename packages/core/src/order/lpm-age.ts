import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import { historyOf } from "../history.ts";
import type { RequestState } from "../state.ts";
import { matchTokens, type View } from "../view.ts";
import { byReady, byTask } from "./compare.ts";

/** Passes of a waiting request: decisions that admitted something while it waited, the present one included. */
export function passesOf(view: View, request: RequestState): number {
  return 1 + view.state.admittingDecisions - request.passesMark;
}

/** Passes since the task arrived; where no history is kept, since its oldest live call became ready. */
export function taskPassesOf(view: View, request: RequestState): number {
  const task = historyOf(view.state)?.tasks.get(request.spec.task);
  if (task !== undefined) return 1 + view.state.admittingDecisions - task.passesMark;
  let passes = passesOf(view, request);
  for (const stage of view.state.tasks.get(request.spec.task)?.stages.values() ?? []) {
    const live = stage.request === null ? undefined : view.state.requests.get(stage.request);
    if (live !== undefined) passes = Math.max(passes, passesOf(view, live));
  }
  return passes;
}

type Bonus = (view: View, request: RequestState) => number;

/** match + bonus, largest first; stable ties; above `fallbackAbove` waiting the queue order itself, nothing counted. */
function aged(id: string, options: AllOptions, ties: "queue" | "task", timeVarying: boolean, bonus: Bonus): KeyOrder {
  return {
    kind: "keys",
    id,
    timeVarying,
    residencyBound: true,
    sort(view, queue, incoming) {
      const stable = queue.toSorted(ties === "queue" ? byReady : byTask(view));
      if (queue.length > options.fallbackAbove) return stable;
      const score = new Map(stable.map((request) => [request, matchTokens(view, request, incoming) + bonus(view, request)]));
      return stable.toSorted((a, b) => score.get(b)! - score.get(a)!);
    },
  };
}

/**
 * -(match + N x passes), N = `tokensPerPass`: whoever waits long enough passes any match; worst displacement
 * ceil(max match / N) passes (sgl-project/sglang#31954; vector V19).
 */
export const lpmAge = (options: AllOptions): KeyOrder =>
  aged("lpm-age", options, "queue", false, (view, request) => options.tokensPerPass * passesOf(view, request));

/** lpm-age with the passes of the task instead of the request's, ties by task arrival. */
export const lpmTaskAge = (options: AllOptions): KeyOrder =>
  aged("lpm-task-age", options, "task", false, (view, request) => options.tokensPerPass * taskPassesOf(view, request));

/** -(match + alpha x (t - tau_i)), alpha = `tokensPerSecond`: age of the task in seconds. */
export const lpmAgeSeconds = (options: AllOptions): KeyOrder =>
  aged(
    "lpm-age-s",
    options,
    "task",
    true,
    (view, request) => options.tokensPerSecond * Math.max(0, view.nowSeconds - view.taskArrivalSeconds(request)),
  );
