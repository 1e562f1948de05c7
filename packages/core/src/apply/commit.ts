import type { AdmitAction, Decision, EvictAction, LoadAction, PreemptAction } from "../events.ts";
import { beginEvict, makeAbsent, pin, recountCells, releaseCells, setPromise, touch } from "../ledger.ts";
import { noteAdmission, overtakesOf } from "../overtakes.ts";
import { moveScales } from "../search/scales.ts";
import { ADMISSION_LOG, count, type State } from "../state.ts";
import { backToQueue } from "./request.ts";

/** Promises, pins and credits of a decision that will be carried out. Actions that no longer apply are counted and skipped. */
export function applyCommitted(state: State, decision: Decision): void {
  for (const action of decision.preempt) commitPreempt(state, action);
  for (const action of decision.evict) commitEvict(state, action);
  for (const action of decision.load) commitLoad(state, action);
  for (const action of decision.admit) commitAdmit(state, action);
  if (decision.preempt.length > 0) state.preemptedAtSeconds = state.nowSeconds;
  if (decision.searchTruncated === true) count(state, "searchTruncated");
  if (decision.termSpread !== undefined) state.termScales = moveScales(state.termScales, decision.termSpread);
  if (decision.admit.length === 0) return;
  state.admittingDecisions += 1;
  for (const why of decision.why) {
    if (!("reason" in why) || (why.reason !== "didNotFit" && why.reason !== "behindGuard")) continue;
    const waiting = state.waiting.get(why.request);
    if (waiting !== undefined) waiting.skippedSinceSeconds ??= state.nowSeconds;
  }
}

function commitPreempt(state: State, action: PreemptAction): void {
  const request = state.running.get(action.request);
  if (request === undefined) return count(state, "staleActions");
  const cells = request.cells;
  releaseCells(state, request);
  backToQueue(state, request, action.mode);
  request.preemptions += 1;
  request.pendingMode = action.mode;
  request.pendingFreeTokens = cells;
  state.ledger.pendingFree += cells;
  const stage = state.tasks.get(request.spec.task)?.stages.get(request.spec.stage);
  if (stage !== undefined) stage.voluntaryPreemptions += 1;
  count(state, "voluntaryPreemptions");
}

function commitEvict(state: State, action: EvictAction): void {
  const entry = state.entries.get(action.entry);
  if (entry === undefined || entry.phase !== "resident" || entry.users > 0 || entry.sessions > 0)
    return count(state, "staleActions");
  beginEvict(state, entry);
  count(state, entry.kind === "session" ? "retentionsBroken" : "prefixesEvicted");
}

function commitLoad(state: State, action: LoadAction): void {
  const entry = state.entries.get(action.entry);
  if (entry === undefined || entry.phase !== "absent") return count(state, "staleActions");
  entry.phase = "loading";
  entry.loadFor = "prefetch";
}

function commitAdmit(state: State, action: AdmitAction): void {
  const request = state.waiting.get(action.request);
  if (request === undefined || request.pendingMode !== null) return count(state, "staleActions");
  const id = request.spec.id;
  const prefix = request.prefix === null ? undefined : state.entries.get(request.prefix);
  if (prefix?.phase === "evicting") return count(state, "staleActions");
  state.waiting.delete(id);
  state.running.set(id, request);
  setPromise(state, request, action.needTokens);
  request.creditSeconds = action.creditSeconds;
  request.admittedSeconds = state.nowSeconds;
  request.passesAtAdmission = state.admittingDecisions;
  request.admitSeq = state.nextSeq++;
  request.overtakenAtAdmission = overtakesOf(state, request);
  noteAdmission(state, request);
  request.skippedSinceSeconds = null;
  request.cooldownSeconds = null;
  if (prefix !== undefined) {
    pin(state, prefix);
    touch(state, prefix);
    if (prefix.phase === "absent") prefix.phase = "loading";
    if (prefix.phase === "loading") prefix.loadFor = "requests";
  }
  const reused = request.reusedTokens;
  continueSession(state, id);
  if (request.swappedTokens === 0) recountCells(state, request);
  const task = state.tasks.get(request.spec.task);
  const stage = task?.stages.get(request.spec.stage);
  if (stage !== undefined) stage.status = "running";
  if (task !== undefined) task.admissions += 1;
  if (task !== undefined && request.reusedTokens !== reused) task.revision += 1;
  state.admissions.push({ request: id, readySeq: request.readySeq, admitSeq: request.admitSeq });
  if (state.admissions.length > ADMISSION_LOG) state.admissions.splice(0, state.admissions.length - ADMISSION_LOG);
}

/** A resident session entry becomes the request's own first tokens; what the prompt does not extend is freed. */
function continueSession(state: State, id: string): void {
  const request = state.running.get(id)!;
  const { session, ownPromptTokens } = request.spec;
  const entry = session === null ? undefined : state.entries.get(`session:${session.id}`);
  if (entry === undefined || entry.phase !== "resident" || entry.base !== request.prefix) return;
  if (request.filledTokens === 0)
    request.reusedTokens = request.filledTokens = Math.max(0, Math.min(session!.reusableTokens, entry.tokens, ownPromptTokens));
  makeAbsent(state, entry, false);
}
