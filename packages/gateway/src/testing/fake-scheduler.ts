import { NO_USAGE, type EngineDescription } from "@topas/engines";
import { GatewayError, type ErrorCode } from "../errors.ts";
import type { CallIdentity, Explanation, Fallback, Health, ScheduledCall, Scheduler, StateSnapshot } from "../scheduler.ts";

/** A scheduler without a policy: first come, first run, `slots` at a time. What a running call does is the test's `run`. */
export class FakeScheduler implements Scheduler {
  policyId = "fcfs";
  fallback: Fallback | null = null;
  wire: "tokens" | "raw" = "tokens";
  up = true;
  slots = 4;
  queueLimit = 1000;
  /** Refuses the next call with this code. */
  refuseNext: ErrorCode | null = null;
  run: (call: ScheduledCall) => void = () => {};
  readonly calls: ScheduledCall[] = [];
  readonly waiting: ScheduledCall[] = [];
  readonly running = new Map<string, ScheduledCall>();
  readonly ends = new Map<string, number>();
  readonly cancelled: string[] = [];
  readonly resumed: string[] = [];
  readonly log: string[] = [];

  get queueFull(): boolean {
    return this.waiting.length >= this.queueLimit;
  }

  engine(): EngineDescription | null {
    if (!this.up) return null;
    return { engine: "scripted", model: "made-1", wire: this.wire, kvBudgetTokens: 32768 } as EngineDescription;
  }

  enqueue(call: ScheduledCall): void {
    const refusal = this.refuseNext;
    this.refuseNext = null;
    if (refusal !== null) throw new GatewayError(refusal);
    if (this.waiting.length >= this.queueLimit) throw new GatewayError("queue_full", { retryAfterSeconds: 3.2 });
    const once: ScheduledCall = {
      ...call,
      sink: {
        head: (status, headers) => call.sink.head?.(status, headers),
        raw: (chunk) => call.sink.raw?.(chunk) ?? true,
        token: (token, piece) => call.sink.token?.(token, piece),
        end: (end) => {
          if (!this.running.delete(call.id) && !this.drop(call.id)) return;
          this.ends.set(call.id, (this.ends.get(call.id) ?? 0) + 1);
          call.sink.end(end);
          this.admit();
        },
      },
    };
    this.calls.push(once);
    this.waiting.push(once);
    this.admit();
  }

  cancel(id: string): void {
    this.cancelled.push(id);
    const call = this.running.get(id) ?? this.waiting.find((each) => each.id === id);
    call?.sink.end({ reason: "cancelled", usage: NO_USAGE });
  }

  resume(id: string): void {
    this.resumed.push(id);
  }

  declareWorkflow(tenant: string, id: string): void {
    this.log.push(`workflow ${tenant} ${id}`);
  }

  receipt(identity: Pick<CallIdentity, "tenant" | "task">): void {
    this.log.push(`receipt ${identity.tenant} ${identity.task}`);
  }

  finishTask(tenant: string, id: string, outcome: "done" | "cancelled"): boolean {
    const task = `${tenant}/${id}`;
    const own = this.calls.filter(
      (call) => call.identity.task === task && (this.running.has(call.id) || this.waiting.includes(call)),
    );
    if (outcome === "cancelled") for (const call of own) this.cancel(call.id);
    return own.length > 0;
  }

  setPolicy(id: string): void {
    if (!["fcfs", "topas"].includes(id))
      throw new GatewayError("unknown_policy", { message: `unknown policy "${id}": fcfs, topas`, param: "policy" });
    this.policyId = id;
  }

  explain(id: string): Explanation | null {
    const call = this.calls.find((each) => each.id === id);
    return call === undefined ? null : ({ requestId: id, task: call.identity.task, overtakenBy: [] } as unknown as Explanation);
  }

  snapshot(): StateSnapshot {
    return {
      policy: this.policyId,
      fallback: this.fallback,
      volatilePrefixes: [],
      engine: this.engine(),
      nowSeconds: 0,
      budgetTokens: 32768,
      kv: { free: 1000, resident: 200, running: 30, promised: 4, pendingFree: 0 },
      waiting: this.waiting.map(({ id, identity }) => ({
        id,
        task: identity.task,
        agent: identity.agent,
        waitedSeconds: 1.5,
        costTokens: 10,
      })),
      running: [],
      entries: [],
      tasks: 0,
      lastDecision: null,
    };
  }

  counters(): Readonly<Record<string, number>> {
    return { queue_depth: this.waiting.length, in_flight: this.running.size, overtakes_total: 7, "not a name": 1 };
  }

  health(): Health {
    return this.up ? { ready: true, reason: null } : { ready: false, reason: "engine_unavailable" };
  }

  async close(): Promise<void> {}

  private admit(): void {
    while (this.running.size < this.slots) {
      const call = this.waiting.shift();
      if (call === undefined) return;
      this.running.set(call.id, call);
      call.onAdmitted?.();
      this.run(call);
    }
  }

  private drop(id: string): boolean {
    const at = this.waiting.findIndex((each) => each.id === id);
    if (at >= 0) this.waiting.splice(at, 1);
    return at >= 0;
  }
}
