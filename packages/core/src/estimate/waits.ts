import { frameKey } from "../frame-key.ts";
import type { StageState, State, TaskState } from "../state.ts";
import { nonNegative } from "./stage-lengths.ts";
import { PRIOR_WAIT_SECONDS, priorWaitSeconds } from "./prior.ts";
import { FULL_TRUST, type Profile } from "./profile.ts";
import { ringSize } from "./ring.ts";

/** Observed waits of this agent or tool, ascending, seconds. */
export function observedWaits(profile: Profile, tenant: string, name: string): Float64Array {
  const ring = profile.waits.get(frameKey(tenant, name));
  return ring === undefined ? new Float64Array(0) : ring.data.slice(0, ringSize(ring)).sort();
}

/** Quantile q of the waits, seconds; fewer than 8 are filled up with quantiles of the built-in wait (algorithm 2.3). */
export function waitQuantile(profile: Profile, tenant: string, name: string, q: number): number {
  const own = observedWaits(profile, tenant, name);
  const missing = Math.max(0, FULL_TRUST - own.length);
  const all = new Float64Array(own.length + missing);
  all.set(own);
  for (let i = 0; i < missing; i++) all[own.length + i] = priorWaitSeconds((i + 0.5) / missing);
  all.sort();
  const at = Math.min(1, Math.max(0, Number.isFinite(q) ? q : 0.5)) * all.length;
  return all[Math.min(all.length - 1, Math.max(0, Math.ceil(at) - 1))]!;
}

/**
 * Seconds until the stage's next call is expected; 0 when it is not waiting for a tool. A declared end that still lies ahead
 * counts; else the mean of the waits that were longer than this one is already.
 */
export function waitLeft(state: State, task: TaskState, stage: StageState): number {
  if (stage.status !== "toolWait" || stage.roundEndSeconds === null) return 0;
  const end = nonNegative(task.hints.toolWaitEndSeconds);
  if (end !== null && end > state.nowSeconds) return end - state.nowSeconds;
  const passed = Math.max(0, state.nowSeconds - stage.roundEndSeconds);
  const waits = observedWaits(state.profile, task.tenant, stage.agent);
  let sum = 0;
  let longer = 0;
  for (const wait of waits)
    if (wait > passed) {
      sum += wait - passed;
      longer += 1;
    }
  const fill = Math.max(0, FULL_TRUST - waits.length);
  return longer + fill === 0 ? passed : (sum + fill * PRIOR_WAIT_SECONDS) / (longer + fill);
}
