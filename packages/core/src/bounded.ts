/** Most keys kept of what is learned per agent or prefix; the oldest go first. */
export const MOST_KEYS = 16_384;

/** Drops the oldest insertions of a map beyond `most`, so that unknown agents and ever-new prompts cannot fill memory. */
export function trim(map: Map<unknown, unknown>, most: number = MOST_KEYS): void {
  for (const key of map.keys()) {
    if (map.size <= most) return;
    map.delete(key);
  }
}
