import type { LiveExperiment } from "./live.ts";
import { liveRuflo, rufloExperiment } from "./live-ruflo.ts";
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

/** The settings and rows of a preset that only exists live, without what plays it: to replay what it recorded. */
export function recordedExperiment(name: string): LiveExperiment {
  if (!LIVE_ONLY.includes(name)) throw new RangeError(`preset ${name} records nothing: run it with --engine sim as it is`);
  return rufloExperiment({});
}
