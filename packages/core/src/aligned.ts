/**
 * What is kept beside the items of a list that changes little from one walk to the next: a queue loses items anywhere and gains
 * them at its end. While that holds a walk needs no look-up; whatever else happened, it only costs look-ups.
 */
export interface Aligned<K extends object, V> {
  readonly keys: K[];
  readonly values: V[];
}

/** Brings the values in step with the items; `find` gives those of items that moved or are new. */
export function align<K extends object, V>({ keys, values }: Aligned<K, V>, items: Iterable<K>, find: (key: K) => V): V[] {
  const known = keys.length;
  let from = 0;
  let to = 0;
  for (const item of items) {
    while (from < known && keys[from] !== item) from += 1;
    values[to] = from < known ? values[from]! : find(item);
    keys[to] = item;
    from += 1;
    to += 1;
  }
  keys.length = values.length = to;
  return values;
}
