import type { EntryId } from "../events.ts";
import type { RequestState } from "../state.ts";
import type { Member } from "./density.ts";
import type { Line } from "./line.ts";

/** A live request as the index sees it; all estimates are as of the last event of its task. */
export interface Item extends Member {
  readonly id: string;
  readonly request: RequestState;
  readonly task: TaskRecord;
  readonly group: Group;
  /** tau_i, or the call's own ready time once the task is past its declared rounds, seconds. */
  arrivalSeconds: number;
  waits: boolean;
  base: number;
  key: number;
  /** Key under the rate of a rebuild under way; only meaningful while `inNext`. */
  nextKey: number;
  inNext: boolean;
  needTokens: number;
  areaTokenSeconds: number;
  serviceSeconds: number;
  /** Service still ahead of it, seconds. */
  endSeconds: number;
  /** Output believed at the start of the call, tokens, capped by `limitTokens`. */
  outputTokens: number;
  limitTokens: number;
  /** Scratch of the decision in progress: x_r and d_r of a running request, and the decision that took it. */
  leftTokens: number;
  heldTokens: number;
  takenIn: number;
}

/** One task with live or past requests, kept until the task is forgotten. */
export interface TaskRecord {
  readonly id: string;
  readonly arrivalSeconds: number;
  readonly items: Set<Item>;
  /** Its end has been seen. */
  over: boolean;
  /** How long its sessions are expected to wait, 95th percentile, seconds; 0: nothing waits on a tool. */
  patienceSeconds: number;
  /** Its part of soon_a, already added to the sums. */
  soon: ReadonlyMap<EntryId, number>;
}

/** The requests of one prefix (or of none). */
export interface Group {
  readonly prefix: EntryId | null;
  /** Waiting, best key first. */
  line: Line;
  /** The same under the next rate, while a rebuild is under way. */
  next: Line;
  readonly running: Set<Item>;
  /** Scratch of the decision in progress. */
  readonly scratch: GroupScratch;
}

export interface GroupScratch {
  /** Its prefix is on its way out: nobody starts now. */
  evicting: boolean;
  /** l_a still to be paid: 0 once pinned or taken. */
  chargeTokens: number;
  /** No item before this place of the line can be taken any more in this pass. */
  chunk: number;
  place: number;
  head: Item | null;
  /** Tokens the cached head or members need; a smaller room makes them stale. */
  costTokens: number;
  /** What the guard had to spare when it was found. */
  extraTokens: number;
  value: number;
  exact: boolean;
  readonly members: Item[];
  leaving: number;
}

/** Best key first; ties by task arrival, smaller need, id (algorithm 1.6). */
export function compareItems(a: Item, b: Item): number {
  return b.key - a.key || compareTies(a, b);
}

export function compareNext(a: Item, b: Item): number {
  return b.nextKey - a.nextKey || compareTies(a, b);
}

export function compareTies(a: Item, b: Item): number {
  if (a.arrivalSeconds !== b.arrivalSeconds) return a.arrivalSeconds - b.arrivalSeconds;
  if (a.needTokens !== b.needTokens) return a.needTokens - b.needTokens;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
