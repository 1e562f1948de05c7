import type { EntryId } from "../events.ts";
import { compareItems, compareNext, type Group, type Item } from "./item.ts";
import { insertSorted, removeSorted } from "./sorted.ts";

export function newGroup(prefix: EntryId | null): Group {
  return {
    prefix,
    items: [],
    next: [],
    running: new Set(),
    waitingTokens: 0,
    leastTokens: NaN,
    scratch: {
      decision: 0,
      chargeTokens: 0,
      cursor: 0,
      head: null,
      costTokens: 0,
      value: 0,
      exact: false,
      members: [],
      leaving: 0,
    },
  };
}

/** Puts a measured waiting item in its place. */
export function enqueue(item: Item): void {
  const { group } = item;
  insertSorted(group.items, item, compareItems);
  if (item.inNext) insertSorted(group.next, item, compareNext);
  group.waitingTokens += item.needTokens;
  if (!(item.needTokens >= group.leastTokens))
    group.leastTokens = group.items.length === 1 ? item.needTokens : least(group, item);
}

function least(group: Group, item: Item): number {
  return Number.isNaN(group.leastTokens) ? NaN : item.needTokens;
}

/** Takes a waiting item out by (key, id); its key must not have changed since it went in. */
export function dequeue(item: Item): boolean {
  const { group } = item;
  const found = removeSorted(group.items, item, compareItems);
  if (item.inNext) removeSorted(group.next, item, compareNext);
  if (!found) return false;
  group.waitingTokens -= item.needTokens;
  if (item.needTokens <= group.leastTokens) group.leastTokens = NaN;
  return true;
}

/** Smallest need waiting, tokens; Infinity without any. */
export function leastNeed(group: Group): number {
  if (!Number.isNaN(group.leastTokens)) return group.leastTokens;
  let smallest = Infinity;
  for (const { needTokens } of group.items) if (needTokens < smallest) smallest = needTokens;
  group.leastTokens = smallest;
  return smallest;
}
