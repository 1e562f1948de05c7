import type { RunLog } from "./run-log.ts";

/**
 * Modelled joules: power of the state times its time, idle in between; a step that does both is shared by its tokens. Constants
 * of a power table, never a measurement; host, fans and links are not in it (Mutinifni/splitwise-sim has the A100 columns).
 */
export function energyOf({ steps, engine, endSeconds }: RunLog, fromSeconds: number): number | null {
  const { powerWatts, devices } = engine;
  if (powerWatts === undefined || steps === undefined) return null;
  let joules = 0;
  let busy = 0;
  for (const { atSeconds, seconds, prefillTokens, decodes } of steps) {
    const running = Math.max(0, Math.min(endSeconds, atSeconds + seconds) - Math.max(fromSeconds, atSeconds));
    const tokens = prefillTokens + decodes;
    const prefill = tokens === 0 ? 0 : prefillTokens / tokens;
    joules += running * (prefill * powerWatts.prefill + (1 - prefill) * powerWatts.decode);
    busy += running;
  }
  return devices * (joules + powerWatts.idle * Math.max(0, endSeconds - fromSeconds - busy));
}
