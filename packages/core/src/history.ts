import { trim } from "./bounded.ts";
import { createEstimator } from "./estimate/estimator.ts";
import type { CoreEvent, Decision, EntryId } from "./events.ts";
import { generatedTokens, type RequestState, type State } from "./state.ts";

/** What only some baselines remember, beside the state proper: a log of facts, plain data, written through `recordHistory`. */
export interface History {
  /** Prompt tokens processed so far, prefixes included. */
  prefilledTokens: number;
  /** SGLang's new-token ratio: share of a running call's remaining limit that is reserved. */
  reserveRatio: number;
  /** Moving mean (0.02) of |expected - actual| / actual output tokens of finished calls. */
  outputError: number;
  /** Newest last: 1 where an acting decision left something waiting. */
  readonly contended: number[];
  readonly calls: Map<string, CallHistory>;
  readonly tasks: Map<string, TaskHistory>;
  /** Uses of a prefix, decaying. */
  readonly uses: Map<EntryId, Decaying>;
}

export interface CallHistory {
  /** `prefilledTokens` when it became ready. */
  readonly prefilledMark: number;
  /** Since when it waits; null while it runs. */
  waitingSince: number | null;
}

export interface TaskHistory {
  /** `admittingDecisions` when the task arrived. */
  readonly passesMark: number;
  /** Seconds its calls waited for admission, all rounds, what waits now excluded. */
  waitedSeconds: number;
  /** Input + 2 x output tokens of its completed calls, half-life 60 s. */
  readonly service: Decaying;
}

export interface Decaying {
  value: number;
  atSeconds: number;
}

export const SERVICE_HALF_LIFE = 60;
export const USES_HALF_LIFE = 300;
const CONTENDED_LOG = 256;

/** SGLang: the ratio starts at 0.7 and falls to 0.098 over 600 decode steps. */
export const RATIO = { start: 0.7, end: 0.098, steps: 600 } as const;

export function emptyHistory(): History {
  return {
    prefilledTokens: 0,
    reserveRatio: RATIO.start,
    outputError: 0,
    contended: [],
    calls: new Map(),
    tasks: new Map(),
    uses: new Map(),
  };
}

/** A state carries its history from its first event on. */
interface WithHistory extends State {
  history?: History;
}

/** The history of a state; null before its first event, and then the baselines go by what the state itself tells. */
export function historyOf(state: State): History | null {
  return (state as WithHistory).history ?? null;
}

/** Value at an instant, halved every `halfLife` seconds. */
export function decayed(value: Decaying | undefined, atSeconds: number, halfLife: number): number {
  if (value === undefined) return 0;
  return value.value * 0.5 ** (Math.max(0, atSeconds - value.atSeconds) / halfLife);
}

function add(to: Decaying, amount: number, atSeconds: number, halfLife: number): void {
  to.value = decayed(to, atSeconds, halfLife) + amount;
  to.atSeconds = atSeconds;
}

/** Called by `step` for each event before it is applied: O(1) but for a lost engine. */
export function recordHistory(state: State, event: CoreEvent): void {
  const history = ((state as WithHistory).history ??= emptyHistory());
  const now = Math.max(state.nowSeconds, event.at);
  switch (event.kind) {
    case "taskArrived":
      if (!history.tasks.has(event.task.id)) history.tasks.set(event.task.id, newTask(state, now));
      trim(history.tasks);
      return;
    case "ready": {
      const { id, task } = event.request;
      if (state.requests.has(id)) return;
      history.calls.set(id, { prefilledMark: history.prefilledTokens, waitingSince: now });
      trim(history.calls);
      if (!history.tasks.has(task)) history.tasks.set(task, newTask(state, now));
      return;
    }
    case "committed":
      return recordDecision(state, history, event.decision, now);
    case "loaded":
      history.prefilledTokens += Math.max(0, event.computedTokens);
      return;
    case "progress": {
      let steps = 0;
      for (const { prefilled, decoded } of event.deltas) {
        history.prefilledTokens += Math.max(0, prefilled);
        steps = Math.max(steps, decoded);
      }
      history.reserveRatio = Math.max(RATIO.end, history.reserveRatio - ((RATIO.start - RATIO.end) / RATIO.steps) * steps);
      return;
    }
    case "preempted":
      if (event.by === "engine") recordRetraction(state, history, event.request, now);
      return;
    case "refused":
      return waitsAgain(history, event.request, now);
    case "engineLost":
      history.reserveRatio = RATIO.start;
      for (const id of state.running.keys()) waitsAgain(history, id, now);
      return;
    case "roundDone": {
      const request = state.requests.get(event.request);
      const task = request === undefined ? undefined : history.tasks.get(request.spec.task);
      if (request !== undefined && task !== undefined) add(task.service, serviceTokens(request), now, SERVICE_HALF_LIFE);
      if (request !== undefined && state.running.has(event.request)) recordError(state, history, request);
      return leaves(state, history, event.request);
    }
    case "cancelled":
    case "failed":
      return leaves(state, history, event.request);
    case "taskDone":
    case "taskCancelled":
      history.tasks.delete(event.task);
      return;
    case "graphRevealed":
    case "receiptUpdated":
    case "loadFailed":
    case "evicted":
    case "hostDropped":
    case "firstToken":
    case "stageDone":
    case "stageSkipped":
    case "budgetChanged":
    case "timer":
      return;
    default: {
      const unreachable: never = event;
      return unreachable;
    }
  }
}

function newTask(state: State, now: number): TaskHistory {
  return { passesMark: state.admittingDecisions, waitedSeconds: 0, service: { value: 0, atSeconds: now } };
}

/** Input + 2 x output (llm-d-router). */
function serviceTokens(request: RequestState): number {
  return (request.spec.prefix?.tokens ?? 0) + request.spec.ownPromptTokens + 2 * generatedTokens(request);
}

function recordError(state: State, history: History, request: RequestState): void {
  const actual = generatedTokens(request);
  if (actual <= 0) return;
  const expected = createEstimator(state).expectedOutputTokens({ ...request, redoneTokens: 0, decodedTokens: 0 });
  history.outputError += 0.02 * (Math.abs(expected - actual) / actual - history.outputError);
}

function recordDecision(state: State, history: History, decision: Decision, now: number): void {
  for (const { request } of decision.preempt) waitsAgain(history, request, now);
  for (const { request: id } of decision.admit) {
    const request = state.waiting.get(id);
    const call = history.calls.get(id);
    if (request === undefined || call === undefined) continue;
    const task = history.tasks.get(request.spec.task);
    if (task !== undefined && call.waitingSince !== null) task.waitedSeconds += Math.max(0, now - call.waitingSince);
    call.waitingSince = null;
    if (request.prefix === null) continue;
    const use = history.uses.get(request.prefix) ?? { value: 0, atSeconds: now };
    add(use, 1, now, USES_HALF_LIFE);
    history.uses.set(request.prefix, use);
    trim(history.uses);
  }
  if (decision.admit.length === 0) return;
  history.contended.push(state.waiting.size > decision.admit.length ? 1 : 0);
  if (history.contended.length > CONTENDED_LOG) history.contended.splice(0, history.contended.length - CONTENDED_LOG);
}

/** After a retraction the ratio is what the survivors are expected to need: (generated + 20 each) over their limits. */
function recordRetraction(state: State, history: History, id: string, now: number): void {
  waitsAgain(history, id, now);
  let generated = 0;
  let limits = 0;
  for (const other of state.running.values()) {
    if (other.spec.id === id) continue;
    generated += generatedTokens(other) + 20;
    limits += Math.max(0, other.spec.maxTokens);
  }
  history.reserveRatio = limits > 0 ? Math.min(1, generated / limits) : RATIO.start;
}

function waitsAgain(history: History, id: string, now: number): void {
  const call = history.calls.get(id);
  if (call !== undefined) call.waitingSince ??= now;
}

/** The last call to leave resets the ratio: the engine is idle. */
function leaves(state: State, history: History, id: string): void {
  history.calls.delete(id);
  if (state.running.size === 1 && state.running.has(id)) history.reserveRatio = RATIO.start;
}
