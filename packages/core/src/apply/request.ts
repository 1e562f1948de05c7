import { trim } from "../bounded.ts";
import { toBlocks } from "../config.ts";
import { learnCall, learnReady } from "../estimate/learn.ts";
import type { EntryId, ProgressDelta, RequestSpec } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { enterLoop, finishPredecessors, refreshReadiness } from "../graph/progress.ts";
import {
  addEntry,
  forgetIfUnused,
  makeAbsent,
  makeResident,
  recountCells,
  releaseCells,
  setPromise,
  touch,
  unpin,
} from "../ledger.ts";
import {
  count,
  generatedTokens,
  type EntryState,
  type RequestState,
  type StageState,
  type State,
  type TaskState,
} from "../state.ts";
import { resumeWaiting } from "../overtakes.ts";
import { applyTaskArrived, finishStage, forgetTaskIfOver, newVirtualStage } from "./task.ts";

export function applyReady(state: State, named: RequestSpec): void {
  if (state.requests.has(named.id)) return count(state, "requestsRepeated");
  if (!state.tasks.has(named.task)) {
    count(state, "tasksImplied");
    applyTaskArrived(state, { id: named.task, tenant: "", workflow: null, arrivalSeconds: state.nowSeconds });
  }
  const task = state.tasks.get(named.task)!;
  const spec = asSibling(state, task, named);
  const stage = openStage(state, task, spec);
  learnReady(state, task, stage);
  task.revision += 1;
  const prefix = spec.prefix === null || !(spec.prefix.tokens > 0) ? null : entryFor(state, spec);
  if (prefix !== null) {
    state.agentPrefix.set(frameKey(task.tenant, stage.agent), prefix.id);
    trim(state.agentPrefix);
  }
  const session = spec.session === null ? undefined : state.entries.get(`session:${spec.session.id}`);
  const extended = session?.base === (prefix?.id ?? null) && spec.session!.reusableTokens > 0;
  if (session !== undefined && !extended) session.dead = true;

  const request: RequestState = {
    spec,
    prefix: prefix?.id ?? null,
    readySeq: state.nextSeq++,
    readySeconds: state.nowSeconds,
    passesMark: state.admittingDecisions,
    passesAtAdmission: state.admittingDecisions,
    admittedSeconds: null,
    admitSeq: 0,
    passedWhileRunning: 0,
    overtakenAtAdmission: 0,
    promisedTokens: 0,
    creditSeconds: 0,
    filledTokens: 0,
    redoneTokens: 0,
    decodedTokens: 0,
    cells: 0,
    pendingFreeTokens: 0,
    pendingMode: null,
    reusedTokens: 0,
    swappedTokens: 0,
    preemptions: 0,
    retractions: 0,
    cooldownSeconds: null,
    refusals: 0,
    skippedSinceSeconds: null,
  };
  state.requests.set(spec.id, request);
  state.waiting.set(spec.id, request);
  task.live += 1;
  task.callsStarted += 1;
}

/** Calls that one undeclared stage has at once are siblings, not rounds: each beyond the first gets a stage that ends with it (K49). */
function asSibling(state: State, task: TaskState, spec: RequestSpec): RequestSpec {
  const taken = task.stages.get(spec.stage);
  if (taken?.virtual !== true || taken.request === null) return spec;
  count(state, "parallelCallsOfOneStage");
  const id = `${spec.stage}#${spec.id}`;
  task.stages.set(id, { ...newVirtualStage(state, task.tenant, spec.stage, spec.agent), id });
  return { ...spec, stage: id };
}

function dropSibling(task: TaskState, stage: StageState, request: string): void {
  if (stage.virtual && stage.id.endsWith(`#${request}`)) task.stages.delete(stage.id);
}

function openStage(state: State, task: TaskState, spec: RequestSpec): StageState {
  let stage = task.stages.get(spec.stage);
  if (stage === undefined) {
    stage = newVirtualStage(state, task.tenant, spec.stage, spec.agent);
    task.stages.set(spec.stage, stage);
  }
  if (stage.request !== null) count(state, "parallelCallsOfOneStage");
  if (stage.virtual) {
    if (stage.status === "done" && task.graph !== null) count(state, "stagesReopened");
    if (stage.status === "done") newVisit(stage);
  } else {
    finishPredecessors(state, task, spec.stage);
    const inLoop = task.loops.has(task.graph!.nodeOf.get(spec.stage)!);
    enterLoop(state, task, stage);
    if (stage.status === "done" && inLoop) newVisit(stage);
    else if (stage.status === "done" || stage.status === "skipped") count(state, "stagesReopened");
  }
  stage.status = "ready";
  stage.request = spec.id;
  refreshReadiness(task);
  return stage;
}

/** The stage is called once more after it was done: what it attained belongs to the visit before. */
function newVisit(stage: StageState): void {
  stage.attainedSeconds = stage.lostSeconds = stage.rounds = 0;
  stage.sums = null;
}

/** Service that a preemption destroys, seconds: the prompt is computed again, and in mode redecode every token too. */
function lostSeconds(state: State, request: RequestState, kept: "cancel" | "redecode"): number {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  const computed = Math.max(0, request.filledTokens - request.reusedTokens);
  return p * computed + (kept === "redecode" ? h * request.decodedTokens : 0);
}

function entryFor(state: State, spec: RequestSpec): EntryState {
  const id: EntryId = `prefix:${spec.prefix!.id}`;
  const tokens = toBlocks(state.config, spec.prefix!.tokens);
  let entry = state.entries.get(id);
  if (entry === undefined) {
    entry = newEntry(id, "prefix", tokens, null, null);
    addEntry(state, entry);
  } else if (entry.tokens !== tokens) {
    count(state, "prefixSizeContradictions");
    if (entry.phase === "absent" && entry.users === 0) entry.tokens = tokens;
  }
  entry.refs += 1;
  return entry;
}

export function newEntry(
  id: EntryId,
  kind: EntryState["kind"],
  tokens: number,
  base: EntryId | null,
  task: string | null,
): EntryState {
  return {
    id,
    kind,
    tokens,
    phase: "absent",
    cells: 0,
    onHost: false,
    users: 0,
    refs: 0,
    sessions: 0,
    loadFor: null,
    lastUseSeconds: 0,
    lastUseSeq: 0,
    base,
    task,
    dead: false,
  };
}

/** Own prompt tokens prefilled and tokens decoded since the last report; a decoded token proves the prompt is in. */
export function applyProgress(state: State, delta: ProgressDelta): void {
  const request = state.running.get(delta.request);
  if (request === undefined) return count(state, "lateProgress");
  const prefilled = Math.max(0, delta.prefilled);
  const decoded = Math.max(0, delta.decoded);
  const target = request.spec.ownPromptTokens + request.redoneTokens;
  request.filledTokens = decoded > 0 ? target : Math.min(target, request.filledTokens + prefilled);
  request.decodedTokens += decoded;
  request.swappedTokens = 0;
  if (prefilled > 0 || decoded > 0) prefixIsIn(state, request);
  recountCells(state, request);
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  const served = p * prefilled + h * decoded;
  const task = state.tasks.get(request.spec.task);
  const stage = task?.stages.get(request.spec.stage);
  if (task !== undefined) {
    task.attainedSeconds += served;
    task.revision += 1;
  }
  if (stage !== undefined) stage.attainedSeconds += served;
  const limit = Math.max(0, request.spec.maxTokens);
  const grown = request.spec.ownPromptTokens + Math.min(limit, generatedTokens(request) + 32);
  setPromise(state, request, Math.max(request.promisedTokens, toBlocks(state.config, grown), request.cells));
}

export function applyFirstToken(state: State, id: string): void {
  const request = state.running.get(id);
  if (request === undefined) return;
  request.filledTokens = request.spec.ownPromptTokens + request.redoneTokens;
  request.swappedTokens = 0;
  prefixIsIn(state, request);
  recountCells(state, request);
}

function prefixIsIn(state: State, request: RequestState): void {
  const entry = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (entry?.phase === "loading") makeResident(state, entry);
}

/** Takes a request out of the lists; everything it held is given back exactly once. */
function leave(
  state: State,
  id: string,
): { request: RequestState; task: TaskState | undefined; stage: StageState | undefined } | null {
  const request = state.requests.get(id);
  if (request === undefined) return null;
  const running = state.running.delete(id);
  state.waiting.delete(id);
  state.requests.delete(id);
  const task = state.tasks.get(request.spec.task);
  const stage = task?.stages.get(request.spec.stage);
  if (stage?.request === id) stage.request = null;
  if (task !== undefined) {
    task.live -= 1;
    task.revision += 1;
  }
  releaseCells(state, request);
  setPromise(state, request, 0);
  state.ledger.pendingFree -= request.pendingFreeTokens;
  request.pendingFreeTokens = 0;
  request.creditSeconds = 0;
  const entry = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (entry !== undefined) {
    entry.refs -= 1;
    if (running) {
      touch(state, entry);
      unpin(state, entry);
    }
    forgetIfUnused(state, entry);
  }
  return { request, task, stage };
}

/** The call finished; `retainedTokens` private tokens stay as its session entry. */
export function applyRoundDone(state: State, id: string, retainedTokens: number): void {
  const running = state.running.get(id);
  if (running !== undefined) prefixIsIn(state, running);
  const left = leave(state, id);
  if (left === null) return count(state, "unknownRequests");
  const { request, task, stage } = left;
  if (retainedTokens > 0) retain(state, request, retainedTokens);
  if (task === undefined || stage === undefined) return;
  learnCall(state, task, stage, request);
  stage.rounds += 1;
  const { rounds } = stage.declared;
  if (rounds !== null && stage.rounds < rounds.max) stage.status = "toolWait";
  else if (stage.request === null) finishStage(state, task, stage);
  if (stage.virtual) stage.rounds = 0;
  dropSibling(task, stage, id);
  forgetTaskIfOver(state, task);
}

function retain(state: State, request: RequestState, retainedTokens: number): void {
  const id: EntryId = `session:${request.spec.session?.id ?? request.spec.id}`;
  const old = state.entries.get(id);
  const base = request.prefix !== null && state.entries.get(request.prefix)?.phase === "resident" ? request.prefix : null;
  if (old !== undefined) makeAbsent(state, old, false);
  const entry = newEntry(id, "session", toBlocks(state.config, retainedTokens), base, request.spec.task);
  addEntry(state, entry);
  makeResident(state, entry);
  touch(state, entry);
  entry.dead = !state.tasks.has(request.spec.task) || state.tasks.get(request.spec.task)!.done;
}

/** Cancelled or failed, queued or running: gone at once, nothing kept. A failed stage may be tried again by another call. */
export function applyLeft(state: State, id: string, outcome: "cancelled" | "failed"): void {
  const left = leave(state, id);
  if (left === null) return;
  const { task, stage } = left;
  if (task === undefined) return;
  if (stage !== undefined && stage.request === null) {
    if (stage.virtual) stage.status = "done";
    else stage.status = outcome === "failed" ? "failed" : "ready";
    dropSibling(task, stage, id);
    refreshReadiness(task);
  }
  forgetTaskIfOver(state, task);
}

/** Back to the queue with its place kept. What it keeps depends on the mode: swap all, cancel its token ids, redecode nothing. */
export function backToQueue(state: State, request: RequestState, kept: "swap" | "cancel" | "redecode"): void {
  const id = request.spec.id;
  const stage = state.tasks.get(request.spec.task)?.stages.get(request.spec.stage);
  if (stage !== undefined && kept !== "swap") stage.lostSeconds += lostSeconds(state, request, kept);
  state.running.delete(id);
  state.waiting.set(id, request);
  setPromise(state, request, 0);
  request.creditSeconds = 0;
  request.admittedSeconds = null;
  resumeWaiting(state, request);
  request.cooldownSeconds = state.nowSeconds;
  if (kept !== "swap") request.reusedTokens = 0;
  if (kept === "swap") request.swappedTokens = request.filledTokens + request.decodedTokens;
  else {
    request.swappedTokens = 0;
    request.filledTokens = 0;
    request.redoneTokens = kept === "cancel" ? request.redoneTokens + request.decodedTokens : 0;
    request.decodedTokens = 0;
  }
  if (stage !== undefined) stage.status = "ready";
  const task = state.tasks.get(request.spec.task);
  if (task !== undefined) task.revision += 1;
  const entry = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (entry !== undefined) {
    touch(state, entry);
    unpin(state, entry);
  }
}
