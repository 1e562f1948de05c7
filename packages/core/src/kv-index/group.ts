import type { EntryId } from "../events.ts";
import { compareItems, compareNext, type Group, type Item } from "./item.ts";
import { insert, newLine, remove } from "./line.ts";

export function newGroup(prefix: EntryId | null): Group {
  return {
    prefix,
    line: newLine(),
    next: newLine(),
    running: new Set(),
    scratch: {
      evicting: false,
      chargeTokens: 0,
      chunk: 0,
      place: 0,
      head: null,
      costTokens: 0,
      extraTokens: 0,
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
  insert(group.line, item, compareItems);
  if (item.inNext) insert(group.next, item, compareNext);
}

/** Takes a waiting item out by (key, id). */
export function dequeue(item: Item): void {
  const { group } = item;
  const found = remove(group.line, item, compareItems) && (!item.inNext || remove(group.next, item, compareNext));
  if (!found) throw new Error(`request ${item.id} has left its place in the index`);
}
