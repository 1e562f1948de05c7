import { decide } from "../decide.ts";
import { evictionOrder } from "../evict/cover.ts";
import type { CoreEvent, Decision, EntryId, RequestSpec } from "../events.ts";
import { checkInvariants } from "../invariants.ts";
import { freeTokens, roomTokens } from "../ledger.ts";
import { lru } from "../evict/lru.ts";
import type { Policy } from "../policy/policy.ts";
import { overflowVictims } from "../preempt/overflow.ts";
import { mean } from "../reserve/mean.ts";
import { generatedTokens, promptHeldTokens, type State } from "../state.ts";
import { isDeciding, step } from "../step.ts";
import { createView } from "../view.ts";

/** An engine without surprises, driven by the state: it fills prompts, decodes, evicts in `keep` order and preempts on overflow. */
export interface World {
  readonly state: State;
  readonly events: CoreEvent[];
  readonly decisions: Decision[];
  nowSeconds: number;
  send(event: CoreEvent): void;
  /** Decides and carries out until at rest; returns the number of decisions that acted. */
  settle(): number;
  /** One engine step of every running call, then rest. */
  tick(seconds: number, chunk: number): void;
}

export interface WorldHooks {
  readonly outputTokens: (spec: RequestSpec) => number;
  readonly retain?: (spec: RequestSpec) => boolean;
  /** Confirmations of preempts, evictions and loads arrive only with the next tick. */
  readonly lag?: boolean;
  readonly onDecision?: (before: State, decision: Decision) => void;
}

const MOST_DECISIONS = 64;

export function createWorld(state: State, policy: Policy, hooks: WorldHooks): World {
  const late: CoreEvent[] = [];
  const world: World = {
    state,
    events: [],
    decisions: [],
    nowSeconds: 0,
    send(event) {
      world.events.push(event);
      step(state, event);
      const broken = checkInvariants(state);
      if (broken.length > 0) throw new Error(`${event.kind}: ${broken.join("; ")}`);
    },
    settle() {
      for (let n = 0; n < MOST_DECISIONS; n++) {
        const decision = decide(state, policy, world.nowSeconds);
        hooks.onDecision?.(state, decision);
        if (decision.preempt.length + decision.evict.length + decision.load.length + decision.admit.length === 0) return n;
        carryOut(world, policy, decision, hooks.lag === true ? late : null);
      }
      throw new Error("no rest");
    },
    tick(seconds, chunk) {
      world.nowSeconds += seconds;
      for (const event of late.splice(0)) world.send({ ...event, at: world.nowSeconds });
      for (const id of state.running.keys()) advance(world, hooks, id, chunk);
      world.settle();
    },
  };
  return world;
}

function carryOut(world: World, policy: Policy, decision: Decision, late: CoreEvent[] | null): void {
  const { state } = world;
  const at = world.nowSeconds;
  world.decisions.push(decision);
  world.send({ kind: "committed", at, decision });
  const confirm = (event: CoreEvent): void => (late === null ? world.send(event) : void late.push(event));
  for (const { request } of decision.preempt) {
    const kept = state.requests.get(request)?.swappedTokens ?? 0;
    confirm({ kind: "preempted", at, request, by: "us", keptTokens: kept });
  }
  for (const { entry, keepHost } of decision.evict) confirm({ kind: "evicted", at, entry, keptOnHost: keepHost });
  for (const { entry, from } of decision.load) if (from === "host") confirm({ kind: "loaded", at, entry, computedTokens: 0 });
  if (!policy.options.governs || state.ledger.budgetTokens === null) return;
  const { pendingFree } = state.ledger;
  const room = roomTokens(state) + pendingFree;
  if (decision.admit.length > 0 && policy.reserve.id !== "peak" && room < 0)
    throw new Error(`promises exceed the budget by ${-room} after a decision`);
  const prompts = [...state.running.values()].reduce((sum, r) => sum + Math.max(0, promptHeldTokens(r) - r.cells), 0);
  if (decision.admit.length > 0 && prompts > freeTokens(state) + pendingFree)
    throw new Error(`prompts need ${prompts} cells, ${freeTokens(state)} are free after a decision`);
}

function advance(world: World, hooks: WorldHooks, id: string, chunk: number): void {
  const { state } = world;
  const at = world.nowSeconds;
  const request = state.running.get(id);
  if (request === undefined) return;
  const prefix = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (prefix?.phase === "loading") {
    if (!makeSpace(world, prefix.tokens - prefix.cells, id)) return;
    world.send({ kind: "loaded", at, entry: prefix.id, computedTokens: prefix.tokens });
    if (!state.running.has(id)) return;
  }
  const target = request.spec.ownPromptTokens + request.redoneTokens;
  const output = Math.min(hooks.outputTokens(request.spec), Math.max(1, request.spec.maxTokens));
  const prefilled = Math.min(chunk, target - request.filledTokens);
  const decoded = prefilled > 0 ? 0 : Math.min(chunk, output - generatedTokens(request));
  if (!makeSpace(world, prefilled + decoded, id) || !state.running.has(id)) return;
  world.send({ kind: "progress", at, deltas: [{ request: id, prefilled, decoded }] });
  if (decoded > 0 && generatedTokens(request) === decoded) world.send({ kind: "firstToken", at, request: id });
  if (generatedTokens(request) < output) return;
  const retain = hooks.retain?.(request.spec) === true;
  world.send({ kind: "roundDone", at, request: id, retainedTokens: retain ? request.cells : 0 });
}

/** Evicts in keep order, then preempts by the overflow rule. False: the call has to wait this step. */
function makeSpace(world: World, tokens: number, forRequest: string): boolean {
  const { state } = world;
  const at = world.nowSeconds;
  const block = Math.max(1, state.config.blockTokens);
  const needed = Math.ceil(tokens / block + 1) * block;
  while (freeTokens(state) < needed) {
    const victim = evictionOrder(createView(state, at, mean), lru.values(createView(state, at, mean))).find(
      (entry) => entry.users === 0 && entry.sessions === 0,
    );
    if (victim !== undefined) {
      world.send({ kind: "evicted", at, entry: victim.id, keptOnHost: state.config.hostTier });
      continue;
    }
    const request = overflowVictims(state, 1).find((id) => id !== forRequest && state.running.get(id)!.cells > 0);
    if (request === undefined) return false;
    world.send({ kind: "preempted", at, request, by: "engine", keptTokens: 0 });
  }
  return true;
}

export function deciding(world: World, event: CoreEvent): void {
  world.send(event);
  if (isDeciding(event)) world.settle();
}

export function entryPhase(state: State, id: EntryId): string {
  return state.entries.get(id)?.phase ?? "absent";
}
