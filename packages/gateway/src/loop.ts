import { createState, step } from "@topas/core";
import type { CoreEvent, Graph, PolicyChanges, State, decide } from "@topas/core";
import type { CallEnd, Engine, EngineDescription } from "@topas/engines";
import { GatewayError } from "./errors.ts";
import { coreConfig } from "./loop/engine-view.ts";
import { admissible, withoutVolatilePrefix } from "./loop/door.ts";
import { Decider } from "./loop/decider.ts";
import { newCounters } from "./loop/counters.ts";
import type { TimeSummary } from "./loop/decision-times.ts";
import { onEngineEvent } from "./loop/engine-events.ts";
import { RecordBook, explanation, type CallRecord } from "./loop/records.ts";
import { SessionMemory } from "./loop/session-memory.ts";
import { Shadow } from "./loop/shadow.ts";
import { snapshot } from "./loop/snapshot.ts";
import { TaskBook, type OpenTask } from "./loop/task-book.ts";
import { createPrefixWatch } from "./identify/prefix-watch.ts";
import { scopedTaskId } from "./identify/frame.ts";
import type { WorkflowStore } from "./workflows.ts";
import type { Journal } from "./journal.ts";
import type { ProfileStore } from "./profile-store.ts";
import { tellTask, type TaskIdentity } from "./loop/tell-core.ts";
import type { Explanation, Health, ScheduledCall, Scheduler, StateSnapshot } from "./scheduler.ts";

export interface LoopOptions {
  readonly engine: Engine;
  readonly policy: string;
  /** Of `policy`; another one gets its own with `setPolicy`. passthrough takes none. */
  readonly policyOptions?: PolicyChanges;
  /** Waiting calls beyond this are refused with 429. */
  readonly queueLimit?: number;
  readonly queueDeadlineSeconds?: number;
  /** Times the engine may take a call's memory before the call fails with 503 `retraction_limit` (K14). Default 16. */
  readonly maxRetractions?: number;
  /** A task without an open call and without a word for this long is forgotten. */
  readonly taskIdleSeconds?: number;
  /** Work in hand and nothing moving for this long: `/ready` turns 503 (K21). */
  readonly stallSeconds?: number;
  readonly explainKeep?: number;
  /** Declared workflows and receipt revisions; told when a task ends. */
  readonly workflows?: WorkflowStore;
  readonly journal?: Journal;
  /** A policy that is asked at every decision without acting; its differences go to the journal. */
  readonly shadow?: string;
  /** Learned lengths that survive restarts. */
  readonly profiles?: ProfileStore;
  /** Monotonic seconds. */
  readonly nowSeconds: () => number;
  readonly log?: (level: "info" | "warn" | "error", message: string, data?: object) => void;
  /** Test seam: what stands in for core's `decide`, to see a scheduler fail. */
  readonly decide?: typeof decide;
  /** Test hook: every event after it was applied. */
  readonly onEvent?: (state: State, event: CoreEvent) => void;
}

/**
 * The loop: event in, `step`, one `decide` per instant, carry out, report what happened.
 * It owns the clock, the state, the policy and the engine; nothing else writes to any of them.
 */
export class Loop implements Scheduler {
  readonly options: LoopOptions;
  readonly engine_: Engine;
  readonly counters_ = newCounters();
  readonly waiting = new Map<string, CallRecord>();
  readonly running = new Map<string, CallRecord>();
  readonly sessions = new SessionMemory();
  readonly prefixes = createPrefixWatch();
  readonly tasks: TaskBook;
  readonly records: RecordBook;
  state: State;
  description: EngineDescription;
  engineUp = true;
  lastMovedSeconds: number;
  readonly shadow: Shadow | null;
  private readonly decider: Decider;
  closed = false;
  private readonly tick: NodeJS.Timeout;
  private readonly unsubscribe: () => void;

  /** `engine` must have been started. */
  constructor(options: LoopOptions) {
    this.options = options;
    this.engine_ = options.engine;
    this.description = options.engine.describe();
    this.state = createState(coreConfig(this.description), options.profiles?.load());
    this.decider = new Decider(this, options.policy, options.policyOptions ?? {});
    this.shadow =
      options.shadow === undefined || options.journal === undefined ? null : new Shadow(this, options.shadow, options.journal);
    this.tasks = new TaskBook(options.taskIdleSeconds ?? 600);
    this.records = new RecordBook(options.explainKeep ?? 10_000);
    this.lastMovedSeconds = this.now();
    this.unsubscribe = this.engine_.subscribe((event) => onEngineEvent(this, event));
    this.tick = setInterval(() => this.onTick(), 1_000);
    this.tick.unref();
  }

  get policyId(): string {
    return this.decider.policyId;
  }

  now(): number {
    return this.options.nowSeconds();
  }

  engine(): EngineDescription | null {
    return this.engineUp ? this.description : null;
  }

  enqueue(asked: ScheduledCall): void {
    const now = this.now();
    admissible(this, asked, now);
    const call = withoutVolatilePrefix(this, asked);
    const { identity, prompt } = call;
    this.counters_.calls_total++;
    const task = tellTask(this, identity, now);
    task.calls.add(call.id);
    if (identity.taskIsCall) task.final = true;
    const record = this.records.open(call, now, this.decider.policyId);
    this.waiting.set(call.id, record);
    const prefixTokens = prompt.prefix?.tokens ?? 0;
    if (identity.session !== null) task.sessions.add(identity.session);
    this.apply({
      kind: "ready",
      at: now,
      request: {
        id: call.id,
        task: identity.task,
        stage: identity.stage,
        agent: identity.agent,
        prefix: prompt.prefix,
        ownPromptTokens: prompt.promptTokens - prefixTokens,
        maxTokens: call.maxTokens,
        expectedOutputTokens: identity.hints?.expectedOutputTokens ?? null,
        session:
          identity.session === null || prompt.tokens === null
            ? null
            : { id: identity.session, reusableTokens: this.sessions.reusable(identity.session, prompt.tokens, prefixTokens) },
      },
    });
    this.requestDecision();
  }

  cancel(id: string): void {
    const record = this.records.get(id);
    if (record === undefined || record.status === "done") return;
    if (record.submitted) {
      this.engine_.cancel(id);
      return;
    }
    this.endUnsubmitted(record, "cancelled");
  }

  resume(id: string): void {
    this.engine_.resume(id);
  }

  receipt(identity: TaskIdentity): void {
    tellTask(this, identity, this.now());
    this.requestDecision();
  }

  declareWorkflow(tenant: string, id: string, graph: Graph): void {
    this.options.workflows?.declare(tenant, id, graph);
  }

  finishTask(tenant: string, id: string, outcome: "done" | "cancelled"): boolean {
    const task = scopedTaskId(tenant, id);
    const open = this.tasks.get(task);
    if (outcome === "cancelled") {
      this.tasks.bury(task, this.now());
      if (open !== undefined) for (const id of open.calls) this.cancel(id);
    }
    if (open === undefined) return false;
    this.closeTask(open, outcome === "done" ? "taskDone" : "taskCancelled");
    return true;
  }

  setPolicy(id: string, options?: PolicyChanges): void {
    this.decider.use(id, options);
    this.options.log?.("info", "policy switched", { policy: id });
  }

  explain(id: string): Explanation | null {
    const record = this.records.get(id);
    return record === undefined ? null : explanation(record, this.now());
  }

  snapshot(): StateSnapshot {
    return snapshot({
      state: this.state,
      policy: this.decider.policyId,
      engine: this.engine(),
      nowSeconds: this.now(),
      waiting: this.waiting,
      running: this.running,
      tasks: this.tasks.size,
      lastDecision: this.decider.last,
    });
  }

  /** Seconds of every `decide` since the start, over all policies. */
  decisionTimes(): TimeSummary {
    return this.decider.times.summary();
  }

  counters(): Readonly<Record<string, number>> {
    const times = this.decisionTimes();
    return {
      ...this.counters_,
      ...this.options.workflows?.counters(),
      decision_p50_seconds: times.p50Seconds,
      decision_p95_seconds: times.p95Seconds,
      decision_max_seconds: times.maxSeconds,
      queue_depth: this.waiting.size,
      in_flight: this.running.size,
      tasks: this.tasks.size,
    };
  }

  health(): Health {
    if (this.closed) return { ready: false, reason: "shutting_down" };
    if (!this.engineUp) return { ready: false, reason: "engine_unavailable" };
    const idle = this.waiting.size === 0 && this.running.size === 0;
    if (!idle && this.now() - this.lastMovedSeconds > (this.options.stallSeconds ?? 30))
      return { ready: false, reason: "no_progress" };
    return { ready: true, reason: null };
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.tick);
    this.decider.close();
    for (const record of this.waiting.values()) if (!record.submitted) this.endUnsubmitted(record, "cancelled");
    this.options.profiles?.flush(this.state.profile);
    await this.engine_.close();
    this.unsubscribe();
    await this.options.journal?.close();
  }

  apply(event: CoreEvent): void {
    step(this.state, event);
    this.options.onEvent?.(this.state, event);
  }

  requestDecision(): void {
    this.decider.request();
  }

  /** The call has its terminal event. Everything it held is released here, once, before the client hears of it. */
  settle(record: CallRecord, outcome: "finished" | "failed" | "cancelled", end: Pick<CallEnd, "reason" | "usage">): void {
    const now = this.now();
    this.options.journal?.call(record, end, now);
    const { id, identity } = record.call;
    this.waiting.delete(id);
    this.running.delete(id);
    this.records.finish(record, now);
    this.lastMovedSeconds = now;
    if (outcome === "finished") this.apply({ kind: "roundDone", at: now, request: id, retainedTokens: end.usage.retainedTokens });
    else this.apply({ kind: outcome, at: now, request: id });
    this.counters_[`calls_${outcome}_total`]++;
    const task = this.tasks.get(identity.task);
    if (task !== undefined) {
      task.calls.delete(id);
      task.lastSeenSeconds = now;
      if (task.final && task.calls.size === 0) this.closeTask(task, "taskDone");
    }
    this.requestDecision();
  }

  /** Ends a call that the engine has never seen. */
  endUnsubmitted(record: CallRecord, reason: "cancelled" | "failed", error?: GatewayError): void {
    // A settled record forgets its call, the sink included.
    const { sink } = record.call;
    const usage = {
      promptTokens: null,
      cachedTokens: null,
      completionTokens: null,
      computedTokens: null,
      redoneTokens: null,
      retainedTokens: 0,
    };
    this.settle(record, reason, { reason, usage });
    sink.end({
      reason,
      usage,
      ...(error === undefined
        ? {}
        : { error: { code: error.code, message: error.message, status: error.status, retryable: true } }),
    });
  }

  private closeTask(task: OpenTask, kind: "taskDone" | "taskCancelled"): void {
    this.tasks.close(task.id);
    this.options.workflows?.forget(task.id);
    this.apply({ kind, at: this.now(), task: task.id });
    this.counters_.tasks_done_total++;
    for (const session of task.sessions) this.sessions.forget(session);
    if (this.description.hostTier && task.sessions.size > 0) {
      // Resident session KV is now dead and leaves with the next decision; copies on the host leave here.
      void this.engine_.apply([...task.sessions].map((s) => ({ op: "dropHost", entry: `session:${s}` })));
    }
    this.requestDecision();
  }

  /** Once a second: deadlines, idle tasks, and a decision while something waits (orders whose keys move with time). */
  private onTick(): void {
    const now = this.now();
    const deadline = this.options.queueDeadlineSeconds ?? 600;
    for (const record of this.waiting.values()) {
      if (record.submitted || now - record.arrivedSeconds < deadline) continue;
      this.counters_.queue_timeout_total++;
      this.endUnsubmitted(record, "failed", new GatewayError(this.engineUp ? "queue_timeout" : "engine_unavailable"));
    }
    for (const task of this.tasks.idle(now)) {
      this.counters_.tasks_expired_total++;
      this.closeTask(task, "taskCancelled");
    }
    this.options.profiles?.save(this.state.profile, now);
    if (this.waiting.size > 0) this.decider.timer();
  }
}
