import { promptCells, type View } from "../view.ts";
import type { EntryId } from "../events.ts";
import type { Policy } from "../policy/policy.ts";
import { createGains, type Gains } from "../score/admit.ts";
import type { EntryState, RequestState, TaskState } from "../state.ts";
import type { Weight } from "../score/weights.ts";
import { bestHeads, compareHeads, type Head, type Queue } from "./heads.ts";
import { groupKin, type Kin } from "./kin.ts";

/** One active prefix: its waiting heads and its running requests. Requests without a prefix form a group of their own. */
export interface Group {
  index: number;
  readonly prefix: EntryState | null;
  readonly running: RequestState[];
  heads: Head[];
  /** Smallest need among its waiting heads; Infinity without any. */
  minNeed: number;
}

/** What one search reads of the queue: heads by rank, and the same in columns for the inner loops. */
export interface Pool {
  readonly groups: readonly Group[];
  /** All heads, best first: gain, then tau_i, smaller need, id. */
  readonly ranked: readonly Head[];
  readonly gains: Gains;
  readonly kin: readonly Kin[];
  readonly columns: Columns;
  /** Worth is per token of need. */
  readonly byDensity: boolean;
}

/** One number per head, by rank. */
export interface Columns {
  readonly group: Int32Array;
  readonly need: Float64Array;
  /** What the greedy choice compares: aged gain, or gain per token of need. */
  readonly worth: Float64Array;
  /** Seconds added to J_admit and kept as credit if taken first of its task. */
  readonly value: Float64Array;
  /** What one second before aging adds to `worth` and to `value`. */
  readonly worthPerBase: Float64Array;
  readonly credit: Float64Array;
  /** Bound on `value` whatever of its task is taken before. */
  readonly upper: Float64Array;
  readonly cells: Float64Array;
  /** Tasks by number. */
  readonly task: Int32Array;
  /** Index into `kin`; -1: no sibling waits. */
  readonly kin: Int32Array;
}

interface Lane extends Queue {
  readonly group: Group;
  readonly waiting: RequestState[];
  readonly weights: Weight[];
}

/** Active prefixes (those of ready or running requests) with at most 64 heads each, the oldest always among them. */
export function buildPool(view: View, policy: Policy): Pool {
  const gains = createGains(view, policy.options);
  const byDensity = policy.options.packBy === "density";
  const groups = new Map<EntryId | "", Lane>();
  const groupOf = (request: RequestState): Lane => {
    const key = request.prefix ?? "";
    let found = groups.get(key);
    if (found === undefined) {
      const group: Group = { index: 0, prefix: view.prefixOf(request), running: [], heads: [], minNeed: Infinity };
      groups.set(key, (found = { group, waiting: [], weights: [] }));
    }
    return found;
  };
  for (const request of view.running) groupOf(request).group.running.push(request);
  const weights = gains.weights(view.waiting);
  for (let i = 0; i < weights.length; i++) {
    const request = view.waiting[i]!;
    const lane = groupOf(request);
    lane.waiting.push(request);
    lane.weights.push(weights[i]!);
  }
  const list = [...groups.values()].toSorted((a, b) => compareText(a.group.prefix?.id ?? "", b.group.prefix?.id ?? ""));
  list.forEach(({ group, ...queue }, index) => {
    group.index = index;
    group.heads = bestHeads(view, gains, queue, index, byDensity);
    for (const { need } of group.heads) if (need < group.minNeed) group.minNeed = need;
  });
  const ranked = list.flatMap(({ group }) => group.heads).sort(compareHeads);
  const kin = groupKin(ranked, gains);
  return {
    groups: list.map(({ group }) => group),
    ranked,
    gains,
    kin,
    columns: columnsOf(view, ranked, gains, kin, byDensity),
    byDensity,
  };
}

function columnsOf(view: View, ranked: readonly Head[], gains: Gains, kin: readonly Kin[], byDensity: boolean): Columns {
  const size = ranked.length;
  const columns: Columns = {
    group: new Int32Array(size),
    need: new Float64Array(size),
    worth: new Float64Array(size),
    value: new Float64Array(size),
    worthPerBase: new Float64Array(size),
    credit: new Float64Array(size),
    upper: new Float64Array(size),
    cells: new Float64Array(size),
    task: new Int32Array(size),
    kin: new Int32Array(size).fill(-1),
  };
  const tasks = new Map<TaskState | null, number>();
  kin.forEach(({ members }, index) => members.forEach((rank) => (columns.kin[rank] = index)));
  for (let rank = 0; rank < size; rank++) {
    const head = ranked[rank]!;
    const { request, weight, age, need } = head;
    const credit = gains.credit(age);
    columns.group[rank] = head.group;
    columns.need[rank] = need;
    columns.worth[rank] = head.worth;
    columns.value[rank] = credit * weight.base;
    columns.credit[rank] = credit;
    columns.worthPerBase[rank] = byDensity ? age / Math.max(1, need) : age;
    columns.upper[rank] = credit * (columns.kin[rank]! < 0 ? weight.base : Math.max(weight.base, weight.upper));
    columns.cells[rank] = promptCells(view, request);
    let task = tasks.get(weight.task);
    if (task === undefined) tasks.set(weight.task, (task = tasks.size));
    columns.task[rank] = task;
  }
  return columns;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
