import type { EntryId } from "../events.ts";
import { overran } from "../graph/ahead.ts";
import type { Reserve } from "../policy/policy.ts";
import type { RequestState, State } from "../state.ts";
import { dequeue, enqueue, newGroup } from "./group.ts";
import type { Group, Item, TaskRecord } from "./item.ts";
import { keyFrom } from "./key.ts";
import { measureCall, measureKeys, measuresFor, type Measures } from "./measure.ts";
import { heldRate, START_JCT_SECONDS, type Rebuild } from "./rebuild.ts";
import type { IndexSettings } from "./settings.ts";
import { NOTHING_SOON, patienceSeconds, taskSoon } from "./soon.ts";

/**
 * The KV-area index of one state (algorithm 5.4): per prefix the waiting requests in key order, fed by `kvIndexSaw` after
 * every event and read by `decide`. Estimates are as of the last event of their own task; a fresh index starts from now.
 */
export interface KvIndex {
  readonly state: State;
  /** Of the policy that reads it now; what was measured depends on `difficulty` and `truth` only. */
  settings: IndexSettings;
  readonly reserve: Reserve;
  readonly items: Map<string, Item>;
  readonly tasks: Map<string, TaskRecord>;
  readonly groups: Map<EntryId | "", Group>;
  /** Running items, longest remaining first as of the last decision. */
  readonly running: Item[];
  /** Waiting items in queue order. */
  readonly queue: Set<Item>;
  /** Waiting items that once ran: they may rest for an instant. */
  readonly returned: Set<Item>;
  /** Part of soon_a that comes from frontier stages, not from waiting requests (algorithm 2.9). */
  readonly soon: Map<EntryId, number>;
  /** H: moving mean of JCT, seconds. */
  jctSeconds: number;
  /** kappa/H and the epoch that the keys in `items` are under. */
  ratePerSecond: number;
  epochSeconds: number;
  rebuild: Rebuild | null;
  decisions: number;
  /** Events since the last decision that read it. */
  unread: number;
}

/** The scale of keys: H and what they are under. */
export type Scale = Pick<KvIndex, "jctSeconds" | "ratePerSecond" | "epochSeconds">;

/** Everything measured afresh from the state, under the scale of a former index if there is one. O(live requests). */
export function buildIndex(state: State, settings: IndexSettings, reserve: Reserve, scale: Scale | null = null): KvIndex {
  const jctSeconds = scale?.jctSeconds ?? START_JCT_SECONDS;
  const index: KvIndex = {
    state,
    settings,
    reserve,
    items: new Map(),
    tasks: new Map(),
    groups: new Map(),
    running: [],
    queue: new Set(),
    returned: new Set(),
    soon: new Map(),
    jctSeconds,
    ratePerSecond: scale?.ratePerSecond ?? heldRate(settings.kappa, jctSeconds),
    epochSeconds: scale?.epochSeconds ?? state.nowSeconds,
    rebuild: null,
    decisions: 0,
    unread: 0,
  };
  for (const task of state.tasks.values()) recordOf(index, task.id, task.arrivalSeconds);
  for (const request of state.running.values()) addItem(index, request);
  for (const request of state.waiting.values()) addItem(index, request);
  for (const task of index.tasks.values()) refreshTask(index, task.id);
  return index;
}

function measuresOf({ state, settings, reserve }: KvIndex): Measures {
  return measuresFor(state, settings, reserve);
}

function recordOf(index: KvIndex, id: string, arrivalSeconds: number): TaskRecord {
  let record = index.tasks.get(id);
  if (record === undefined) {
    record = { id, arrivalSeconds, items: new Set(), over: false, patienceSeconds: 0, soon: NOTHING_SOON };
    index.tasks.set(id, record);
  }
  return record;
}

/** A request seen for the first time; measured and queued by the refresh of its task that follows. */
export function addItem(index: KvIndex, request: RequestState): void {
  const { id, task: taskId } = request.spec;
  const key = request.prefix ?? "";
  let group = index.groups.get(key);
  if (group === undefined) index.groups.set(key, (group = newGroup(request.prefix)));
  const task = index.state.tasks.get(taskId);
  const record = recordOf(index, taskId, task?.arrivalSeconds ?? request.readySeconds);
  const item: Item = {
    id,
    request,
    task: record,
    group,
    arrivalSeconds: record.arrivalSeconds,
    waits: false,
    base: 0,
    key: 0,
    nextKey: 0,
    inNext: false,
    needTokens: 0,
    areaTokenSeconds: 0,
    serviceSeconds: 0,
    endSeconds: 0,
    outputTokens: 0,
    limitTokens: 0,
    leftTokens: 0,
    heldTokens: 0,
    takenIn: 0,
  };
  index.items.set(id, item);
  record.items.add(item);
  if (index.state.running.has(id)) {
    setRunning(index, item);
    return;
  }
  index.queue.add(item);
  if (request.preemptions + request.refusals > 0) index.returned.add(item);
}

function setRunning(index: KvIndex, item: Item): void {
  item.group.running.add(item);
  index.running.push(item);
}

function unsetRunning(index: KvIndex, item: Item): void {
  if (!item.group.running.delete(item)) return;
  const at = index.running.indexOf(item);
  if (at >= 0) index.running.splice(at, 1);
}

/** Follows a request between the queue and the running set; measured and queued by the refresh of its task that follows. */
export function moveItem(index: KvIndex, id: string): void {
  const item = index.items.get(id);
  if (item === undefined) return;
  const runs = index.state.running.has(id);
  if (runs === item.group.running.has(item)) return;
  if (runs) {
    leaveQueue(item);
    index.queue.delete(item);
    index.returned.delete(item);
    setRunning(index, item);
  } else {
    unsetRunning(index, item);
    index.queue.add(item);
    index.returned.add(item);
  }
}

/** A request that is no longer live. */
export function removeItem(index: KvIndex, id: string): TaskRecord | null {
  const item = index.items.get(id);
  if (item === undefined) return null;
  leaveQueue(item);
  unsetRunning(index, item);
  index.items.delete(id);
  index.queue.delete(item);
  index.returned.delete(item);
  item.task.items.delete(item);
  const { group } = item;
  if (group.line.size === 0 && group.running.size === 0) index.groups.delete(group.prefix ?? "");
  return item.task;
}

function leaveQueue(item: Item): void {
  if (!item.waits) return;
  dequeue(item);
  item.waits = false;
  item.inNext = false;
}

function joinQueue(index: KvIndex, item: Item): void {
  item.key = keyFrom(item.base, index.ratePerSecond, item.arrivalSeconds - index.epochSeconds);
  if (!index.state.waiting.has(item.id)) return;
  if (index.rebuild !== null) {
    item.inNext = true;
    item.nextKey = keyFrom(item.base, index.rebuild.ratePerSecond, item.arrivalSeconds - index.rebuild.epochSeconds);
  }
  item.waits = true;
  enqueue(item);
}

/** Re-keys every live call of the task, waiting siblings included: W_i, f_i or the path may have changed (algorithm 5.4). */
export function refreshTask(index: KvIndex, id: string): void {
  const record = index.tasks.get(id);
  if (record === undefined) return;
  const measures = measuresOf(index);
  if (record.items.size > 0) {
    const task = index.state.tasks.get(id);
    const ageless = task !== undefined && overran(task);
    for (const item of record.items) {
      leaveQueue(item);
      item.arrivalSeconds = ageless ? item.request.readySeconds : record.arrivalSeconds;
      measureCall(measures, item);
    }
    measureKeys(measures, record.items, id);
    for (const item of record.items) joinQueue(index, item);
  }
  refreshSoon(index, record, measures);
  if (record.items.size === 0 && !index.state.tasks.has(id)) index.tasks.delete(id);
}

/** Only what the task will use soon has changed, not its areas. */
export function refreshSoon(index: KvIndex, record: TaskRecord, { means }: Measures = measuresOf(index)): void {
  const task = index.state.tasks.get(record.id);
  for (const [entry, uses] of record.soon) {
    const left = (index.soon.get(entry) ?? 0) - uses;
    if (left > 1e-9) index.soon.set(entry, left);
    else index.soon.delete(entry);
  }
  record.soon = task === undefined ? NOTHING_SOON : taskSoon(index.state, task, means);
  record.patienceSeconds = task === undefined ? 0 : patienceSeconds(task, means);
  for (const [entry, uses] of record.soon) index.soon.set(entry, (index.soon.get(entry) ?? 0) + uses);
}
