import { toBlocks } from "./config.ts";
import { createEstimator, ESTIMATOR_DEFAULTS, type Estimator, type EstimatorOptions } from "./estimate/estimator.ts";
import type { EntryId, WaitReason } from "./events.ts";
import { taskPath, type TaskPath } from "./graph/path.ts";
import { freeSlots } from "./ledger.ts";
import type { PolicyOptions, Reserve } from "./policy/policy.ts";
import { promptHeldTokens, type EntryState, type RequestState, type State } from "./state.ts";

/** What one decision reads: the frozen state plus everything derived from it, computed at most once. */
export interface View {
  readonly state: State;
  readonly nowSeconds: number;
  readonly estimator: Estimator;
  readonly reserve: Reserve;
  /** Requests that may be admitted now, in queue order. */
  readonly waiting: readonly RequestState[];
  /** Requests that may not, with the reason. */
  readonly held: readonly { readonly request: RequestState; readonly reason: WaitReason }[];
  readonly running: readonly RequestState[];
  readonly roomTokens: number;
  readonly slots: number;
  /** need_r: tokens to promise, prefix excluded. */
  needTokens(request: RequestState): number;
  prefixOf(request: RequestState): EntryState | null;
  sessionOf(request: RequestState): EntryState | null;
  /** tau_i; a request of a forgotten task counts from its own arrival. */
  taskArrivalSeconds(request: RequestState): number;
  topoIndex(request: RequestState): number;
  path(task: string): TaskPath | null;
}

const believedBy = new WeakMap<PolicyOptions, EstimatorOptions>();

/** How this policy wants lengths believed: one object for each object of options. */
export function estimatorOptions(options: PolicyOptions): EstimatorOptions {
  let believed = believedBy.get(options);
  if (believed === undefined) {
    const { difficulty, samples, roundGain, expectation } = options;
    believed = { ...ESTIMATOR_DEFAULTS, estimate: difficulty, samples, roundGain, inside: expectation === "inside" };
    believedBy.set(options, believed);
  }
  return believed;
}

export function createView(state: State, nowSeconds: number, reserve: Reserve, believed?: EstimatorOptions): View {
  const estimator = rememberLengths(createEstimator(state, believed));
  const needs = new Map<RequestState, number>();
  const paths = new Map<string, TaskPath | null>();
  let room: number | null = null;
  const waiting: RequestState[] = [];
  const held: { request: RequestState; reason: WaitReason }[] = [];
  const prefixOf = (request: RequestState): EntryState | null =>
    request.prefix === null ? null : (state.entries.get(request.prefix) ?? null);
  let evicting = false;
  for (const { phase } of state.entries.values()) if (phase === "evicting") evicting = true;
  for (const request of state.waiting.values()) {
    const reason = holdReason(request, evicting ? prefixOf(request) : null, nowSeconds);
    if (reason === null) waiting.push(request);
    else held.push({ request, reason });
  }
  const running = [...state.running.values()];
  const view: View = {
    state,
    nowSeconds,
    estimator,
    reserve,
    waiting,
    held,
    running,
    get roomTokens() {
      return (room ??= roomAfter(view, running));
    },
    slots: freeSlots(state),
    needTokens(request) {
      let need = needs.get(request);
      if (need === undefined) needs.set(request, (need = reserve.need(view, request)));
      return need;
    },
    prefixOf,
    sessionOf(request) {
      const { session } = request.spec;
      const entry = session === null ? undefined : state.entries.get(`session:${session.id}`);
      return entry?.phase === "resident" && entry.base === request.prefix ? entry : null;
    },
    taskArrivalSeconds: (request) => state.tasks.get(request.spec.task)?.arrivalSeconds ?? request.readySeconds,
    topoIndex: (request) => state.tasks.get(request.spec.task)?.graph?.topoIndex.get(request.spec.stage) ?? 0,
    path(id) {
      let path = paths.get(id);
      if (path === undefined) {
        const task = state.tasks.get(id);
        path = task === undefined ? null : taskPath(task, estimator);
        paths.set(id, path);
      }
      return path;
    },
  };
  return view;
}

/** Expected lengths of running requests are asked for again and again within one decision: each is worked out once. */
function rememberLengths(estimator: Estimator): Estimator {
  const expected = new Map<RequestState, number>();
  const remaining = new Map<RequestState, number>();
  const reserved = new Map<RequestState, number>();
  const once =
    (known: Map<RequestState, number>, ask: (request: RequestState) => number) =>
    (request: RequestState): number => {
      if (request.admittedSeconds === null) return ask(request);
      let tokens = known.get(request);
      if (tokens === undefined) known.set(request, (tokens = ask(request)));
      return tokens;
    };
  return {
    ...estimator,
    expectedOutputTokens: once(expected, (request) => estimator.expectedOutputTokens(request)),
    remainingTokens: once(remaining, (request) => estimator.remainingTokens(request)),
    reservedOutputTokens: once(reserved, (request) => estimator.reservedOutputTokens(request)),
  };
}

function holdReason(request: RequestState, prefix: EntryState | null, nowSeconds: number): WaitReason | null {
  if (request.pendingMode !== null) return "cooldown";
  if (request.cooldownSeconds !== null && nowSeconds <= request.cooldownSeconds) return "cooldown";
  return prefix?.phase === "evicting" ? "prefixLoading" : null;
}

/** Room of the promise ledger if exactly `staying` of the running requests remained. */
export function roomAfter(view: View, staying: readonly RequestState[]): number {
  const { budgetTokens, pendingFree } = view.state.ledger;
  if (budgetTokens === null) return Infinity;
  const prefixes = new Set<EntryId>();
  let pinned = 0;
  for (const request of staying) {
    if (request.prefix === null || prefixes.has(request.prefix)) continue;
    prefixes.add(request.prefix);
    pinned += view.prefixOf(request)?.tokens ?? 0;
  }
  return budgetTokens - pendingFree - pinned - view.reserve.promised(view, staying);
}

/** cost(r) = need_r plus its prefix when no running request pins it and this plan has not taken it yet. */
export function costTokens(view: View, request: RequestState, taken?: ReadonlySet<EntryId>): number {
  const prefix = view.prefixOf(request);
  const covered = prefix === null || prefix.users > 0 || taken?.has(prefix.id) === true;
  return view.needTokens(request) + (covered ? 0 : prefix.tokens);
}

/** Cells the request will have filled once its prompt is in, rounded. */
export function promptCells(view: View, request: RequestState): number {
  return toBlocks(view.state.config, promptHeldTokens(request));
}

/** Prompt tokens found in KV if admitted now: its prefix resident or loading, plus what its session entry still covers. */
export function matchTokens(view: View, request: RequestState, incoming: ReadonlySet<EntryId>): number {
  const prefix = view.prefixOf(request);
  const held = prefix !== null && (prefix.phase === "resident" || prefix.phase === "loading" || incoming.has(prefix.id));
  const shared = held ? request.spec.prefix!.tokens : 0;
  const session = view.sessionOf(request);
  return shared + (session === null ? 0 : Math.min(session.tokens, request.spec.session!.reusableTokens));
}
