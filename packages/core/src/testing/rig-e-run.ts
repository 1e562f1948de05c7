import { decide } from "../decide.ts";
import type { CoreEvent, Decision } from "../events.ts";
import { queueHistory } from "../explain.ts";
import { checkInvariants } from "../invariants.ts";
import { call } from "./builders.ts";
import { engineStep } from "./rig-e-step.ts";
import { arrivals, at, send, SPEEDS, type Rig, type RigCall } from "./rig-e.ts";

const MOST_PREEMPTIONS = 1_000;

/** A call arrives; its task is created when new. */
export function submit(rig: Rig, options: RigCall): void {
  at(rig, options.at, () => {
    const spec = call(options.id, { max: options.out, output: options.out, ...options });
    rig.calls.set(options.id, {
      call: options,
      spec,
      admittedSeconds: null,
      firstTokenSeconds: null,
      doneSeconds: null,
      cachedTokens: 0,
      redoneTokens: 0,
      overtakenBy: [],
      swapInUntil: null,
    });
    const { task } = spec;
    if (!rig.state.tasks.has(task)) {
      const arrivalSeconds = options.at;
      const born = { id: task, tenant: options.tenant ?? "x", workflow: null, arrivalSeconds };
      send(rig, { kind: "taskArrived", at: options.at, task: born });
      if (options.graph !== undefined) send(rig, { kind: "graphRevealed", at: options.at, task, graph: options.graph });
    }
    send(rig, { kind: "ready", at: options.at, request: spec });
  });
}

/** Runs until nothing is left to do or the clock passes `untilSeconds`. False: work waits and nothing can move. */
export function run(rig: Rig, untilSeconds = 1_000): boolean {
  arrivals(rig);
  while (rig.nowSeconds < untilSeconds) {
    if (rig.dirty || (rig.wakeSeconds !== null && rig.wakeSeconds <= rig.nowSeconds)) settle(rig);
    if (rig.preemptions.length > MOST_PREEMPTIONS)
      throw new Error(`thrash: ${MOST_PREEMPTIONS} preemptions by ${rig.nowSeconds} s`);
    const broken = checkInvariants(rig.state);
    if (broken.length > 0) throw new Error(`at ${rig.nowSeconds}: ${broken.join("; ")}`);
    if (engineStep(rig)) continue;
    const next = Math.min(rig.timed[0]?.at ?? Infinity, rig.wakeSeconds ?? Infinity);
    if (next === Infinity) return rig.state.requests.size === 0;
    rig.nowSeconds = Math.max(rig.nowSeconds, next);
    arrivals(rig);
  }
  return true;
}

function settle(rig: Rig): void {
  rig.dirty = false;
  for (let n = 0; n < 64; n++) {
    const decision = decide(rig.state, rig.policy, rig.nowSeconds);
    rig.options.onDecision?.(rig.state, decision);
    rig.wakeSeconds = decision.wakeAtSeconds;
    rig.keep = decision.keep;
    if (decision.preempt.length + decision.evict.length + decision.load.length + decision.admit.length === 0) return;
    carryOut(rig, decision);
  }
  throw new Error("no rest");
}

function carryOut(rig: Rig, decision: Decision): void {
  const { state } = rig;
  const now = rig.nowSeconds;
  for (const { request } of decision.admit) noteAdmission(rig, request);
  send(rig, { kind: "committed", at: now, decision });
  for (const { request } of decision.preempt) {
    const kept = state.requests.get(request)?.swappedTokens ?? 0;
    rig.preemptions.push({ at: now, request });
    if (kept > 0) copy(rig, kept);
    confirm(rig, { kind: "preempted", at: now, request, by: "us", keptTokens: kept });
  }
  for (const { entry, keepHost } of decision.evict) confirm(rig, { kind: "evicted", at: now, entry, keptOnHost: keepHost });
  for (const { entry, from } of decision.load) {
    if (from !== "host") continue;
    const done = copy(rig, state.entries.get(entry)!.tokens);
    at(rig, done, () => send(rig, { kind: "loaded", at: done, entry, computedTokens: 0 }));
  }
  for (const { request } of decision.admit) {
    const { swappedTokens } = state.running.get(request) ?? { swappedTokens: 0 };
    const done = swappedTokens > 0 ? copy(rig, swappedTokens) : null;
    rig.calls.get(request)!.swapInUntil = done;
    if (done !== null) at(rig, done, () => {});
  }
}

/** Queues a copy on the serial channel; returns when it ends. */
function copy(rig: Rig, tokens: number): number {
  rig.channelSeconds =
    Math.max(rig.channelSeconds, rig.nowSeconds) + (tokens * SPEEDS.kvBytesPerToken) / SPEEDS.copyBytesPerSecond;
  return rig.channelSeconds;
}

function confirm(rig: Rig, event: CoreEvent): void {
  const steps = rig.options.lateFree ?? 0;
  if (steps === 0) send(rig, event);
  else rig.late.push({ steps, event });
}

function noteAdmission(rig: Rig, id: string): void {
  const record = rig.calls.get(id)!;
  record.overtakenBy = queueHistory(rig.state, id)!.overtakenBy;
  if (record.admittedSeconds !== null) return;
  record.admittedSeconds = rig.nowSeconds;
  const { prefix } = record.spec;
  if (prefix !== null && rig.resident.has(`prefix:${prefix.id}`)) record.cachedTokens = prefix.tokens;
}
