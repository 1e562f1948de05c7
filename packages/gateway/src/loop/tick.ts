import { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";
import { closeTask, endUnsubmitted } from "./endings.ts";

/**
 * Once a second: deadlines, idle tasks, a scheduler that has stopped deciding, and a decision while something waits (orders
 * whose keys move with time).
 */
export function onTick(loop: Loop): void {
  const now = loop.now();
  const { queueDeadlineSeconds, taskIdleSeconds, stallSeconds } = loop.settings;
  for (const record of loop.waiting.values()) {
    if (record.submitted || now - record.arrivedSeconds < queueDeadlineSeconds) continue;
    loop.counters_.queue_timeout_total++;
    endUnsubmitted(loop, record, "failed", new GatewayError(loop.engineUp ? "queue_timeout" : "engine_unavailable"));
  }
  for (const task of loop.tasks.idle(now, taskIdleSeconds)) {
    loop.counters_.tasks_expired_total++;
    closeTask(loop, task, "taskCancelled");
  }
  loop.options.profiles?.save(loop.state.profile, now);
  if (loop.waiting.size === 0) return;
  // An engine that runs nothing while calls wait has been forgotten by the policy; one that is stuck is not the policy's fault.
  if (loop.engineUp && loop.running.size === 0 && now - loop.lastMovedSeconds > stallSeconds)
    loop.decider.fallBack("no_progress", `calls waited and nothing was admitted for ${stallSeconds} s`);
  loop.decider.timer();
}
