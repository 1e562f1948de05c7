import type { CoreEvent } from "../events.ts";
import type { Reserve } from "../policy/policy.ts";
import type { State } from "../state.ts";
import { heldRate, observeJct, START_JCT_SECONDS } from "./rebuild.ts";
import type { IndexSettings } from "./settings.ts";
import { addItem, buildIndex, moveItem, refreshSoon, refreshTask, removeItem, type KvIndex } from "./store.ts";

/** One index per state, only while a policy reads it; every other state pays one failed look-up per event. */
const indexes = new WeakMap<State, KvIndex>();

/** Events without a reading decision after which an index is taken for abandoned. */
const ABANDONED = 4_096;

/** The index of this state, built on first use and again when it was made for other settings. */
export function indexFor(state: State, settings: IndexSettings, reserve: Reserve): KvIndex {
  let index = indexes.get(state);
  if (index === undefined || index.reserve.id !== reserve.id || !alike(index.settings, settings)) {
    const jctSeconds = index?.jctSeconds ?? START_JCT_SECONDS;
    const ratePerSecond = heldRate(settings.kappa, jctSeconds);
    index = buildIndex(state, settings, reserve, { jctSeconds, ratePerSecond, epochSeconds: state.nowSeconds });
    indexes.set(state, index);
  }
  index.settings = settings;
  index.unread = 0;
  return index;
}

/** The index as it stands, if any; for value eviction and tests. */
export function existingIndex(state: State): KvIndex | undefined {
  return indexes.get(state);
}

/** Measured alike; the other knobs are read by each decision. */
function alike(a: IndexSettings, b: IndexSettings): boolean {
  return a === b || (a.kappa === b.kappa && a.difficulty === b.difficulty && a.truth === b.truth);
}

/** Keeps the index in step; called by `step` after every event has been applied. */
export function kvIndexSaw(state: State, event: CoreEvent): void {
  const index = indexes.get(state);
  if (index === undefined) return;
  if (++index.unread > ABANDONED) {
    indexes.delete(state);
    return;
  }
  follow(index, event);
}

function follow(index: KvIndex, event: CoreEvent): void {
  switch (event.kind) {
    case "ready":
      return onReady(index, event.request.id, event.request.task);
    case "graphRevealed":
    case "receiptUpdated":
    case "stageDone":
    case "stageSkipped":
    case "taskArrived":
      return onTaskChanged(index, event.kind === "taskArrived" ? event.task.id : event.task);
    case "taskDone":
    case "taskCancelled":
      return onTaskOver(index, event.task, event.kind === "taskDone");
    case "roundDone":
    case "cancelled":
    case "failed":
      return onRemoved(index, event.request);
    case "committed":
      for (const { request } of event.decision.preempt) onMoved(index, request);
      for (const { request } of event.decision.admit) onMoved(index, request);
      return;
    case "preempted":
    case "refused":
      return onMoved(index, event.request);
    case "engineLost":
      for (const id of index.items.keys()) onMoved(index, id);
      return;
    case "loaded":
    case "loadFailed":
    case "evicted":
    case "hostDropped":
    case "firstToken":
    case "progress":
    case "budgetChanged":
    case "timer":
      return;
    default: {
      const unreachable: never = event;
      return unreachable;
    }
  }
}

function onReady(index: KvIndex, request: string, task: string): void {
  const live = index.state.requests.get(request);
  if (live === undefined || index.items.has(request)) return;
  addItem(index, live);
  refreshTask(index, task);
}

function onTaskChanged(index: KvIndex, task: string): void {
  refreshTask(index, task);
}

function onRemoved(index: KvIndex, request: string): void {
  const record = removeItem(index, request);
  if (record !== null) refreshTask(index, record.id);
}

/** Admitted, or back in the queue: its stage has another status, which may move the areas of its siblings. */
function onMoved(index: KvIndex, request: string): void {
  const item = index.items.get(request);
  if (item === undefined) return;
  moveItem(index, request);
  refreshTask(index, item.task.id);
}

function onTaskOver(index: KvIndex, task: string, well: boolean): void {
  const record = index.tasks.get(task);
  if (record === undefined) return;
  const live = index.state.tasks.get(task);
  if (well && !record.over) observeJct(index, index.state.nowSeconds - record.arrivalSeconds);
  record.over = true;
  if (live !== undefined || record.items.size > 0) refreshTask(index, task);
  else {
    refreshSoon(index, record);
    index.tasks.delete(task);
  }
}
