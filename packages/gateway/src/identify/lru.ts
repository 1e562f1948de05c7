/** A map that forgets what was used least recently once it is full. */
export interface Lru<V> {
  /** Counts as a use. */
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  delete(key: string): boolean;
  /** Least recently used first. */
  values(): V[];
  readonly size: number;
}

export function createLru<V>(capacity: number): Lru<V> {
  const map = new Map<string, V>();
  return {
    get(key) {
      const value = map.get(key);
      if (value === undefined) return undefined;
      map.delete(key);
      map.set(key, value);
      return value;
    },
    set(key, value) {
      map.delete(key);
      map.set(key, value);
      if (map.size > capacity) {
        const oldest = map.keys().next();
        if (!oldest.done) map.delete(oldest.value);
      }
    },
    delete: (key) => map.delete(key),
    values: () => [...map.values()],
    get size() {
      return map.size;
    },
  };
}
