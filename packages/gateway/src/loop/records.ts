import type { GatewayError } from "../errors.ts";
import type { Decision, Terms, WaitReason } from "@topas/core";
import type { Explanation, ScheduledCall } from "../scheduler.ts";

/** What the loop remembers of one call, from arrival until {@link RecordBook} forgets it. Times are monotonic seconds. */
export interface CallRecord {
  /** After the end only what an explanation needs: no prompt, no body, no sink. */
  call: ScheduledCall;
  readonly arrivedSeconds: number;
  status: "waiting" | "running" | "done";
  /** True once the engine has seen the call: re-admission is a resume, not a submit. */
  submitted: boolean;
  admittedSeconds: number | null;
  firstTokenSeconds: number | null;
  endedSeconds: number | null;
  policy: string;
  needTokens: number | null;
  cachedTokens: number | null;
  generatedTokens: number;
  /** Set when the loop itself ends a submitted call: the client hears this instead of "cancelled". */
  failure: GatewayError | null;
  /** Sent to the upstream a second time. */
  retried: boolean;
  preemptions: number;
  passes: number;
  readonly overtakenBy: string[];
  readonly waits: Map<WaitReason, { decisions: number; seconds: number }>;
  lastWait: { reason: WaitReason; sinceSeconds: number } | null;
  lastTerms: { chosen: Terms; noop: Terms } | null;
}

const OVERTAKERS_KEPT = 16;

/** The last `keep` calls, oldest forgotten first; live calls are never forgotten. */
export class RecordBook {
  private readonly byId = new Map<string, CallRecord>();
  private readonly finished: string[] = [];
  private readonly keep: number;
  constructor(keep: number) {
    this.keep = keep;
  }

  open(call: ScheduledCall, nowSeconds: number, policy: string): CallRecord {
    const record: CallRecord = {
      call,
      arrivedSeconds: nowSeconds,
      status: "waiting",
      submitted: false,
      admittedSeconds: null,
      firstTokenSeconds: null,
      endedSeconds: null,
      policy,
      needTokens: null,
      cachedTokens: null,
      generatedTokens: 0,
      failure: null,
      retried: false,
      preemptions: 0,
      passes: 0,
      overtakenBy: [],
      waits: new Map(),
      lastWait: null,
      lastTerms: null,
    };
    this.byId.set(call.id, record);
    return record;
  }

  get(id: string): CallRecord | undefined {
    return this.byId.get(id);
  }

  finish(record: CallRecord, nowSeconds: number): void {
    settleWait(record, nowSeconds);
    record.status = "done";
    record.call = forgetful(record.call);
    record.endedSeconds = nowSeconds;
    this.finished.push(record.call.id);
    if (this.finished.length > 2 * this.keep) {
      for (const id of this.finished.splice(0, this.finished.length - this.keep)) this.byId.delete(id);
    }
  }

  /** Notes what every waiting call was told by this decision, and who passed it. `live`: the loop's waiting calls. */
  note(decision: Decision, live: ReadonlyMap<string, CallRecord>, nowSeconds: number): void {
    let chosen: Terms | null = null;
    let noop: Terms | null = null;
    for (const why of decision.why) {
      if ("candidate" in why) {
        if (why.candidate === "chosen") chosen = why.terms;
        if (why.candidate === "noop") noop = why.terms;
      } else if (why.action === "waiting") {
        const record = live.get(why.request);
        if (record === undefined) continue;
        settleWait(record, nowSeconds);
        record.lastWait = { reason: why.reason, sinceSeconds: nowSeconds };
        const seen = record.waits.get(why.reason) ?? { decisions: 0, seconds: 0 };
        seen.decisions++;
        record.waits.set(why.reason, seen);
      }
    }
    if (decision.admit.length === 0) return;
    const admitted = decision.admit.map((a) => live.get(a.request)).filter((r) => r !== undefined);
    const newest = admitted.reduce((t, r) => Math.max(t, r.arrivedSeconds), -Infinity);
    for (const record of live.values()) {
      if (record.arrivedSeconds >= newest || admitted.includes(record)) continue;
      record.passes++;
      for (const other of admitted) {
        if (other.arrivedSeconds > record.arrivedSeconds && record.overtakenBy.length < OVERTAKERS_KEPT)
          record.overtakenBy.push(other.call.id);
      }
    }
    if (chosen !== null && noop !== null) for (const record of live.values()) record.lastTerms = { chosen, noop };
  }
}

const NOBODY: ScheduledCall["sink"] = { end: () => {} };

function forgetful(call: ScheduledCall): ScheduledCall {
  const { id, identity, maxTokens, sampling, prompt } = call;
  const slim = { ...identity, graph: null, hints: null };
  return { id, identity: slim, maxTokens, sampling, prompt: { ...prompt, tokens: null }, stop: [], http: null, sink: NOBODY };
}

/** Adds the time since the last decision to the reason given then. */
export function settleWait(record: CallRecord, nowSeconds: number): void {
  const last = record.lastWait;
  if (last === null) return;
  const seen = record.waits.get(last.reason);
  if (seen !== undefined) seen.seconds += nowSeconds - last.sinceSeconds;
  record.lastWait = null;
}

export function explanation(record: CallRecord, nowSeconds: number): Explanation {
  const admitted = record.admittedSeconds;
  const pending = record.lastWait;
  return {
    requestId: record.call.id,
    task: record.call.identity.task,
    stage: record.call.identity.stage,
    agent: record.call.identity.agent,
    status: record.status,
    policy: record.policy,
    queuedSeconds: (admitted ?? record.endedSeconds ?? nowSeconds) - record.arrivedSeconds,
    runningSeconds: admitted === null ? null : (record.endedSeconds ?? nowSeconds) - admitted,
    passes: record.passes,
    overtakenBy: record.overtakenBy,
    waitedFor: [...record.waits].map(([reason, w]) => ({
      reason,
      decisions: w.decisions,
      seconds: w.seconds + (pending?.reason === reason ? nowSeconds - pending.sinceSeconds : 0),
    })),
    lastTerms: record.lastTerms,
    needTokens: record.needTokens,
    cachedTokens: record.cachedTokens,
    preemptions: record.preemptions,
  };
}
