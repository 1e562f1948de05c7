import { emptyDecision } from "../empty-decision.ts";
import type { Decision } from "../events.ts";
import { freeSlots } from "../ledger.ts";
import type { Policy } from "../policy/policy.ts";
import { full } from "../reserve/full.ts";
import type { EntryState, State } from "../state.ts";
import { createView } from "../view.ts";
import { indexValues, value } from "../evict/value.ts";
import { regroup } from "../preempt/regroup.ts";
import { exchange } from "../preempt/regroup-exchange.ts";
import { rests } from "./admissible.ts";
import { pickAll, pickByDensity, restart, startPicking, type Picking } from "./choose.ts";
import { explainLater } from "./explain.ts";
import { findGuard } from "./guard.ts";
import { indexFor } from "./hooks.ts";
import type { Item } from "./item.ts";
import { settleMemory } from "./memory.ts";
import { pickOverdue } from "./overdue.ts";
import { advanceRebuild } from "./rebuild.ts";
import { promisedTo, readRunning, withAdmitted } from "./running.ts";
import type { IndexSettings } from "./settings.ts";
import type { KvIndex } from "./store.ts";

const NEXT_INSTANT_SECONDS = 0.001;
const TICK_SECONDS = 1;
const NOBODY: ReadonlySet<Item> = new Set();

/** One decision from the index (algorithm 5.3, then 5.7): cost independent of the length of the queue. */
export function decideByIndex(state: State, policy: Policy, settings: IndexSettings, nowSeconds: number): Decision {
  if (state.preemptedAtSeconds !== null && nowSeconds <= state.preemptedAtSeconds)
    return emptyDecision(policy, nowSeconds, state.waiting.size > 0 ? nowSeconds + NEXT_INSTANT_SECONDS : null);
  const index = indexFor(state, settings, state.config.failsOnOverflow ? full : policy.reserve);
  advanceRebuild(index);
  return decideFrom(index, policy, nowSeconds);
}

/** The same from an index at hand; reads it and the state, changes only its scratch. */
export function decideFrom(index: KvIndex, policy: Policy, nowSeconds: number): Decision {
  const { state } = index;
  const outstanding = readRunning(index);
  const room = roomOf(index, index.running, nowSeconds);
  const picking = startPicking(index, policy.options, nowSeconds, room, freeSlots(state));
  let victims: ReadonlySet<Item> = NOBODY;
  if (picking.groups.length > 0) {
    pick(picking);
    if (policy.preempt === regroup && state.config.redo === "swap" && picking.admit.length < state.waiting.size)
      victims = exchange(picking, withAdmitted(index.running, picking.admit));
  }
  const memory = settleMemory(index, picking.admit, victims, outstanding, valuesOf(index, policy, nowSeconds));
  const why = explainLater(picking, [...victims], room);
  return {
    policy: policy.id,
    atSeconds: nowSeconds,
    preempt: [...victims].map(({ id }) => ({ request: id, mode: "swap" })),
    evict: memory.evict,
    load: memory.load,
    admit: picking.admit.map(({ id, needTokens }) => ({ request: id, needTokens, creditSeconds: 0 })),
    get keep() {
      return memory.keep();
    },
    get why() {
      return why();
    },
    wakeAtSeconds: wakeAt(picking, victims.size),
  };
}

/** Room of the promise ledger were exactly these running; what the plan pins is not in it. */
function roomOf(index: KvIndex, staying: readonly Item[], nowSeconds: number): number {
  const { budgetTokens, pendingFree, pinned } = index.state.ledger;
  if (budgetTokens === null) return Infinity;
  return budgetTokens - pendingFree - pinned - promisedTo(index, staying, nowSeconds);
}

/**
 * Newcomers pay their need in full. Once they run, the peak of the profile may leave room for more: the next decision would
 * see it, so this one looks again until nothing more is taken.
 */
function pick(picking: Picking): void {
  const { index, options, nowSeconds, admit } = picking;
  if (options.allFits && index.settings.decline === "off" && pickAll(picking)) return;
  for (let before = -1; admit.length > before && picking.slots > 0;) {
    const again = before >= 0;
    before = admit.length;
    const staying = withAdmitted(index.running, admit);
    let room = again ? roomOf(index, staying, nowSeconds) : picking.roomTokens;
    if (again) for (const paid of picking.opened.values()) room -= paid;
    const guard = options.fit === "guarded" ? findGuard(index, options, staying, room, nowSeconds) : null;
    restart(picking, room, guard);
    pickOverdue(picking);
    pickByDensity(picking);
  }
}

function valuesOf(index: KvIndex, policy: Policy, nowSeconds: number): (entry: EntryState) => number {
  if (policy.evict === value) return indexValues(index, nowSeconds);
  return policy.evict.values(createView(index.state, nowSeconds, index.reserve));
}

/** 1 ms after a preempting decision or while a victim or refused request rests, else a tick while the guard may move. */
function wakeAt(picking: Picking, preempted: number): number | null {
  const { index, nowSeconds, admit, options } = picking;
  const { state } = index;
  if (preempted > 0) return nowSeconds + NEXT_INSTANT_SECONDS;
  if (state.waiting.size === admit.length) return null;
  for (const item of index.returned) {
    if (!item.waits) index.returned.delete(item);
    else if (rests(item.request, nowSeconds)) return nowSeconds + NEXT_INSTANT_SECONDS;
  }
  const tick = options.fit === "guarded" ? nowSeconds + TICK_SECONDS : Infinity;
  const next = Math.min(tick, picking.declinedUntilSeconds);
  return Number.isFinite(next) ? next : null;
}
