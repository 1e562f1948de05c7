import type { EntryId, ProgressDelta } from "../events.ts";
import { freeTokens } from "../ledger.ts";
import { overflowVictims } from "../preempt/overflow.ts";
import { generatedTokens, type RequestState } from "../state.ts";
import { toBlocks } from "../config.ts";
import { arrivals, send, type Rig } from "./rig-e.ts";

const STEP_TOKENS = 2_048;
const TOKENS_PER_SECOND = 8_000;
const DECODE_SECONDS = 0.03;

/** One engine step of rig E. False: nothing could be computed, so the clock has to jump to the next event. */
export function engineStep(rig: Rig): boolean {
  const plan = planStep(rig);
  if (plan.prompt === 0 && !plan.decodes) return false;
  rig.nowSeconds += plan.prompt / TOKENS_PER_SECOND + (plan.decodes ? DECODE_SECONDS : 0);
  rig.steps += 1;
  arrivals(rig);
  const now = rig.nowSeconds;
  for (const [entry, tokens] of plan.filled) fill(rig, entry, tokens);
  for (const delta of plan.deltas) advance(rig, delta);
  const due = rig.late.filter((item) => --item.steps <= 0);
  rig.late.splice(0, rig.late.length, ...rig.late.filter((item) => item.steps > 0));
  for (const { event } of due) {
    send(rig, { ...event, at: now });
    rig.dirty = true;
  }
  return true;
}

interface StepPlan {
  readonly deltas: ProgressDelta[];
  readonly filled: Map<EntryId, number>;
  prompt: number;
  decodes: boolean;
}

/** Prompt tokens go to calls in order of admission, or shortest remainder first under a share. */
function planStep(rig: Rig): StepPlan {
  const plan: StepPlan = { deltas: [], filled: new Map(), prompt: 0, decodes: false };
  const share = rig.options.shareTokens;
  const queue = [...rig.state.running.values()];
  if (share !== undefined) queue.sort((a, b) => remaining(a) - remaining(b));
  for (const request of queue) {
    const record = rig.calls.get(request.spec.id)!;
    if (record.swapInUntil !== null && record.swapInUntil > rig.nowSeconds) continue;
    const entry = request.prefix === null ? undefined : rig.state.entries.get(request.prefix);
    let left = Math.min(share ?? STEP_TOKENS, STEP_TOKENS - plan.prompt);
    if (entry?.phase === "loading") {
      if (entry.onHost || plan.filled.has(entry.id)) continue;
      const missing = entry.tokens - (rig.filling.get(entry.id) ?? 0);
      const taken = Math.min(left, missing);
      if (taken === 0) continue;
      plan.filled.set(entry.id, taken);
      plan.prompt += taken;
      left -= taken;
      if (taken < missing) continue;
    }
    const missing = remaining(request);
    const prefilled = Math.min(left, missing);
    const through = prefilled === missing;
    if (prefilled === 0 && !through) continue;
    plan.prompt += prefilled;
    plan.decodes ||= missing === 0;
    plan.deltas.push({ request: request.spec.id, prefilled, decoded: through ? 1 : 0 });
  }
  return plan;
}

const remaining = (request: RequestState): number =>
  Math.max(0, request.spec.ownPromptTokens + request.redoneTokens - request.filledTokens);

function fill(rig: Rig, id: EntryId, tokens: number): void {
  const entry = rig.state.entries.get(id);
  const done = (rig.filling.get(id) ?? 0) + tokens;
  if (entry?.phase !== "loading") return void rig.filling.delete(id);
  rig.filling.set(id, done);
  if (done < entry.tokens) return;
  rig.filling.delete(id);
  if (makeSpace(rig, entry.tokens, null))
    send(rig, { kind: "loaded", at: rig.nowSeconds, entry: id, computedTokens: entry.tokens });
}

function advance(rig: Rig, delta: ProgressDelta): void {
  const { state } = rig;
  const now = rig.nowSeconds;
  const record = rig.calls.get(delta.request)!;
  const request = state.running.get(delta.request);
  if (request === undefined) return;
  const filled = request.filledTokens + delta.prefilled;
  const held = filled + Math.max(0, request.decodedTokens + delta.decoded - 1);
  if (!makeSpace(rig, toBlocks(state.config, held) - request.cells, delta.request)) return;
  const first = generatedTokens(request) === 0 && delta.decoded > 0;
  if (record.firstTokenSeconds !== null) record.redoneTokens += delta.prefilled;
  send(rig, { kind: "progress", at: now, deltas: [delta] });
  if (first) send(rig, { kind: "firstToken", at: now, request: delta.request });
  if (first) record.firstTokenSeconds ??= now;
  if (generatedTokens(request) < record.call.out) return;
  record.doneSeconds = now;
  const kept = rig.options.retain?.(record.spec) === true ? request.cells : 0;
  send(rig, { kind: "roundDone", at: now, request: delta.request, retainedTokens: kept });
  record.call.onDone?.(rig);
  arrivals(rig);
}

/** The engine's own eviction, in the order the last decision asked for; then its overflow rule. */
function makeSpace(rig: Rig, tokens: number, forRequest: string | null): boolean {
  const { state } = rig;
  const now = rig.nowSeconds;
  while (freeTokens(state) < tokens) {
    const known = rig.keep.map((id) => state.entries.get(id));
    const victim = [...known, ...state.entries.values()].find(
      (entry) => entry?.phase === "resident" && entry.users === 0 && entry.sessions === 0,
    );
    if (victim !== undefined) {
      send(rig, { kind: "evicted", at: now, entry: victim.id, keptOnHost: false });
      continue;
    }
    const request = overflowVictims(state, 1).find((id) => id !== forRequest && state.running.get(id)!.cells > 0);
    if (request === undefined) return false;
    rig.preemptions.push({ at: now, request });
    send(rig, { kind: "preempted", at: now, request, by: "engine", keptTokens: 0 });
  }
  return true;
}
