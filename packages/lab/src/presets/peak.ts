import type { ArmChange } from "../grid/grid.ts";

/** Fair rows: the same reserve as the joint policies, and they skip what does not fit. */
export function peakOf(...names: readonly string[]): ArmChange[] {
  return names.map((name) => ({ name: `${name} peak`, base: name, reserve: "peak" }));
}
