import type { EntryId } from "../events.ts";
import type { Policy } from "../policy/policy.ts";
import { createGains, type Gains } from "../score/admit.ts";
import type { EntryState, RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** One active prefix: its waiting heads and its running requests. Requests without a prefix form a group of their own. */
export interface Group {
  index: number;
  readonly prefix: EntryState | null;
  readonly running: RequestState[];
  readonly heads: Head[];
  /** Smallest need among its waiting requests; Infinity without any. */
  minNeed: number;
}

export interface Head {
  readonly request: RequestState;
  group: number;
  readonly need: number;
  /** gain(r | nothing of its task taken yet). */
  readonly gain: number;
  readonly arrival: number;
}

export interface Pool {
  readonly groups: readonly Group[];
  /** All heads, best first: gain, then tau_i, smaller need, id. */
  readonly ranked: readonly Head[];
  readonly byTask: ReadonlyMap<string, readonly Head[]>;
  readonly gains: Gains;
}

const HEADS = 64;
/** Above this many waiting, only the oldest of each prefix are weighed at all. */
const LONG_QUEUE = 1_000;
const OLDEST = 128;

/** Active prefixes (those of ready or running requests) with at most 64 heads each, the oldest always among them. */
export function buildPool(view: View, policy: Policy): Pool {
  const gains = createGains(view, policy.options);
  const groups = new Map<EntryId | "", Group>();
  const groupOf = (request: RequestState): Group => {
    const key = request.prefix ?? "";
    let group = groups.get(key);
    if (group === undefined) {
      group = { index: groups.size, prefix: view.prefixOf(request), running: [], heads: [], minNeed: Infinity };
      groups.set(key, group);
    }
    return group;
  };
  for (const request of view.running) groupOf(request).running.push(request);
  const most = view.waiting.length > LONG_QUEUE ? OLDEST : Infinity;
  for (const request of view.waiting) {
    const group = groupOf(request);
    if (group.heads.length >= most) continue;
    const need = view.needTokens(request);
    group.minNeed = Math.min(group.minNeed, need);
    const gain = gains.gain(request, undefined);
    group.heads.push({ request, group: group.index, need, gain, arrival: view.taskArrivalSeconds(request) });
  }
  const list = [...groups.values()].toSorted((a, b) => compareText(a.prefix?.id ?? "", b.prefix?.id ?? ""));
  list.forEach((group, index) => {
    group.index = index;
    for (const head of group.heads) head.group = index;
  });
  for (const group of list) shorten(group);
  const ranked = list.flatMap((group) => group.heads).toSorted((a, b) => compareHeads(a, b));
  const byTask = new Map<string, Head[]>();
  for (const head of ranked) {
    const siblings = byTask.get(head.request.spec.task);
    if (siblings === undefined) byTask.set(head.request.spec.task, [head]);
    else siblings.push(head);
  }
  return { groups: list, ranked, byTask, gains };
}

function shorten(group: Group): void {
  if (group.heads.length <= HEADS) return;
  const oldest = group.heads.reduce((a, b) => (compareHeads(b, a, 0, 0) < 0 ? b : a));
  group.heads.sort((a, b) => compareHeads(a, b));
  const kept = group.heads.slice(0, HEADS);
  if (!kept.includes(oldest)) kept[HEADS - 1] = oldest;
  group.heads.length = 0;
  group.heads.push(...kept);
  group.minNeed = Math.min(...kept.map((head) => head.need));
}

export function compareHeads(a: Head, b: Head, gainA = a.gain, gainB = b.gain): number {
  if (gainA !== gainB) return gainB - gainA;
  if (a.arrival !== b.arrival) return a.arrival - b.arrival;
  if (a.need !== b.need) return a.need - b.need;
  return compareText(a.request.spec.id, b.request.spec.id);
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
