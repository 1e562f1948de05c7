import type { LiveExperiment } from "./live.ts";
import { liveRuflo } from "./live-ruflo.ts";
import { liveFromSimulated, LIVE_PRESETS } from "./live-simulated.ts";
import { findExperiment } from "./catalog.ts";

/** Presets that exist on a live engine alone; `--engine sim` replays what they recorded. */
export const LIVE_ONLY = ["ruflo"];

/** Names that `--engine llama` takes. */
export const liveNames = (): readonly string[] => [...LIVE_ONLY, ...LIVE_PRESETS];

/** @throws RangeError that says what to do, for a preset the engine cannot follow or whose packages are not there. */
export async function findLiveExperiment(name: string): Promise<LiveExperiment> {
  return name === "ruflo" ? liveRuflo() : liveFromSimulated(findExperiment(name));
}
