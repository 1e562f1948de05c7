/** First place in the sorted list whose item is not before `item`. */
function lowerBound<T>(list: readonly T[], item: T, compare: (a: T, b: T) => number): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(list[middle]!, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Keeps `list` sorted under a total order. O(log n) comparisons and one move of the tail. */
export function insertSorted<T>(list: T[], item: T, compare: (a: T, b: T) => number): void {
  const last = list.at(-1);
  if (last === undefined || compare(last, item) < 0) list.push(item);
  else list.splice(lowerBound(list, item, compare), 0, item);
}

/** Found by its place in the order, never by scanning (algorithm 5.4). False: it was not there. */
export function removeSorted<T>(list: T[], item: T, compare: (a: T, b: T) => number): boolean {
  const at = lowerBound(list, item, compare);
  if (list[at] !== item) return false;
  if (at === list.length - 1) list.pop();
  else list.splice(at, 1);
  return true;
}
