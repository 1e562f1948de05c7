import { createPolicy, createState, decide, feasible, policyIds, step } from "@topas/core";
import type { CoreEvent, Decision, Graph, Policy, PolicyChanges, State, TaskHints } from "@topas/core";
import type { Engine, EngineDescription } from "@topas/engines";
import { GatewayError } from "./errors.ts";
import { coreConfig, onEngine } from "./loop/engine-view.ts";
import { carryOut } from "./loop/carry-out.ts";
import { newCounters } from "./loop/counters.ts";
import { onEngineEvent } from "./loop/engine-events.ts";
import { RecordBook, explanation, type CallRecord } from "./loop/records.ts";
import { SessionMemory } from "./loop/session-memory.ts";
import { snapshot } from "./loop/snapshot.ts";
import { TaskBook, type OpenTask } from "./loop/task-book.ts";
import { scopedTaskId } from "./identify/frame.ts";
import type { WorkflowStore } from "./workflows.ts";
import type { CallIdentity, Explanation, Health, ScheduledCall, Scheduler, StateSnapshot } from "./scheduler.ts";

export interface LoopOptions {
  readonly engine: Engine;
  readonly policy: string;
  readonly policyOptions?: PolicyChanges;
  /** Waiting calls beyond this are refused with 429. */
  readonly queueLimit?: number;
  readonly queueDeadlineSeconds?: number;
  /** A task without an open call and without a word for this long is forgotten. */
  readonly taskIdleSeconds?: number;
  /** Work in hand and nothing moving for this long: `/ready` turns 503 (K21). */
  readonly stallSeconds?: number;
  readonly explainKeep?: number;
  /** Declared workflows and receipt revisions; told when a task ends. */
  readonly workflows?: WorkflowStore;
  /** Monotonic seconds. */
  readonly nowSeconds: () => number;
  readonly log?: (level: "info" | "warn" | "error", message: string, data?: object) => void;
  /** Test hook: every event after it was applied. */
  readonly onEvent?: (state: State, event: CoreEvent) => void;
}

const PASSES_PER_INSTANT = 4;

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
  readonly tasks: TaskBook;
  readonly records: RecordBook;
  state: State;
  description: EngineDescription;
  engineUp = true;
  lastMovedSeconds: number;
  private policy: Policy;
  private chosenPolicy: string;
  private lastDecision: Decision | null = null;
  private decisionDue = false;
  private wake: NodeJS.Timeout | null = null;
  private closed = false;
  private readonly tick: NodeJS.Timeout;
  private readonly unsubscribe: () => void;

  /** `engine` must have been started. */
  constructor(options: LoopOptions) {
    this.options = options;
    this.engine_ = options.engine;
    this.description = options.engine.describe();
    this.state = createState(coreConfig(this.description));
    this.chosenPolicy = options.policy;
    this.policy = this.makePolicy(options.policy);
    this.tasks = new TaskBook(options.taskIdleSeconds ?? 600);
    this.records = new RecordBook(options.explainKeep ?? 10_000);
    this.lastMovedSeconds = this.now();
    this.unsubscribe = this.engine_.subscribe((event) => onEngineEvent(this, event));
    this.tick = setInterval(() => this.onTick(), 1_000);
    this.tick.unref();
  }

  get policyId(): string {
    return this.chosenPolicy;
  }

  now(): number {
    return this.options.nowSeconds();
  }

  engine(): EngineDescription | null {
    return this.engineUp ? this.description : null;
  }

  enqueue(call: ScheduledCall): void {
    const now = this.now();
    const { identity, prompt } = call;
    this.admissible(call, now);
    this.counters_.calls_total++;
    const { task, isNew } = this.tasks.touch(identity.task, identity.tenant, now);
    task.calls.add(call.id);
    if (identity.final || identity.taskIsCall) task.final = true;
    if (isNew) this.announce(identity, now);
    else this.hint(identity.task, identity.stage, identity.graph, identity.hints, now);
    const record = this.records.open(call, now, this.chosenPolicy);
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

  /** Throws before anything is counted as queued. */
  private admissible(call: ScheduledCall, now: number): void {
    const { identity, prompt } = call;
    if (this.closed) throw new GatewayError("shutting_down");
    if (this.tasks.isBuried(identity.task, now)) throw new GatewayError("task_cancelled");
    if (!this.engineUp) {
      this.counters_.refused_engine_total++;
      throw new GatewayError("engine_unavailable");
    }
    const prefixTokens = prompt.prefix?.tokens ?? 0;
    const fit = feasible(coreConfig(this.description), {
      prefixTokens,
      ownPromptTokens: prompt.promptTokens - prefixTokens,
      maxTokens: call.maxTokens,
    });
    if (!fit.ok) {
      this.counters_.refused_context_total++;
      throw new GatewayError("context_length_exceeded", {
        message: `this call needs ${fit.needTokens} tokens of KV cache and the limit is ${fit.limitTokens}: shorten messages or lower max_tokens`,
        param: "messages",
      });
    }
    if (this.waiting.size >= (this.options.queueLimit ?? 1024)) {
      this.counters_.refused_queue_full_total++;
      throw new GatewayError("queue_full", { retryAfterSeconds: this.retryAfterSeconds() });
    }
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

  receipt(identity: Omit<CallIdentity, "session" | "agent" | "stage"> & { readonly stage: string | null }): void {
    const now = this.now();
    const { task, isNew } = this.tasks.touch(identity.task, identity.tenant, now);
    if (isNew)
      this.apply({
        kind: "taskArrived",
        at: now,
        task: {
          id: identity.task,
          tenant: identity.tenant,
          workflow: identity.workflow,
          arrivalSeconds: now - identity.ageSeconds,
        },
      });
    this.hint(identity.task, identity.stage, identity.graph, identity.hints, now);
    if (identity.final) task.final = true;
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

  setPolicy(id: string): void {
    this.policy = this.makePolicy(id);
    this.chosenPolicy = id;
    this.options.log?.("info", "policy switched", { policy: id });
    this.requestDecision();
  }

  explain(id: string): Explanation | null {
    const record = this.records.get(id);
    return record === undefined ? null : explanation(record, this.now());
  }

  snapshot(): StateSnapshot {
    return snapshot({
      state: this.state,
      policy: this.chosenPolicy,
      engine: this.engine(),
      nowSeconds: this.now(),
      waiting: this.waiting,
      running: this.running,
      tasks: this.tasks.size,
      lastDecision: this.lastDecision,
    });
  }

  counters(): Readonly<Record<string, number>> {
    return {
      ...this.counters_,
      ...this.options.workflows?.counters(),
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
    if (this.wake !== null) clearTimeout(this.wake);
    for (const record of [...this.waiting.values()]) if (!record.submitted) this.endUnsubmitted(record, "cancelled");
    await this.engine_.close();
    this.unsubscribe();
  }

  // --- for the modules under loop/ -------------------------------------------------------------------------------

  apply(event: CoreEvent): void {
    step(this.state, event);
    this.options.onEvent?.(this.state, event);
  }

  /** Events of one turn of the event loop are one instant: they share one decision (algorithm 1.3). */
  requestDecision(): void {
    if (this.decisionDue || this.closed) return;
    this.decisionDue = true;
    setImmediate(() => {
      this.decisionDue = false;
      this.decideNow();
    });
  }

  /** The call has its terminal event. Everything it held is released here, once, before the client hears of it. */
  settle(record: CallRecord, outcome: "finished" | "failed" | "cancelled", retainedTokens: number): void {
    const now = this.now();
    const { id, identity } = record.call;
    this.waiting.delete(id);
    this.running.delete(id);
    this.records.finish(record, now);
    this.lastMovedSeconds = now;
    if (outcome === "finished") this.apply({ kind: "roundDone", at: now, request: id, retainedTokens });
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
    this.settle(record, reason, 0);
    const usage = {
      promptTokens: null,
      cachedTokens: null,
      completionTokens: null,
      computedTokens: null,
      redoneTokens: null,
      retainedTokens: 0,
    };
    record.call.sink.end({
      reason,
      usage,
      ...(error === undefined
        ? {}
        : { error: { code: error.code, message: error.message, status: error.status, retryable: true } }),
    });
  }

  // --- private -----------------------------------------------------------------------------------------------------

  private makePolicy(id: string): Policy {
    const meant = onEngine(this.description, id);
    const policy = createPolicy(meant.id, { ...this.options.policyOptions, ...meant.changes });
    if (policy === null) {
      throw new GatewayError("unknown_policy", {
        message: `unknown policy "${id}": choose one of ${policyIds().join(", ")}`,
        param: "policy",
      });
    }
    return policy;
  }

  private announce(identity: CallIdentity, now: number): void {
    this.apply({
      kind: "taskArrived",
      at: now,
      task: {
        id: identity.task,
        tenant: identity.tenant,
        workflow: identity.workflow,
        arrivalSeconds: now - identity.ageSeconds,
      },
    });
    this.hint(identity.task, identity.stage, identity.graph, identity.hints, now);
  }

  private hint(task: string, stage: string | null, graph: Graph | null, hints: TaskHints | null, now: number): void {
    if (graph !== null) this.apply({ kind: "graphRevealed", at: now, task, graph });
    if (hints !== null) this.apply({ kind: "receiptUpdated", at: now, task, stage, hints });
  }

  private closeTask(task: OpenTask, kind: "taskDone" | "taskCancelled"): void {
    this.tasks.close(task.id);
    this.options.workflows?.forget(task.id);
    this.apply({ kind, at: this.now(), task: task.id });
    this.counters_.tasks_done_total++;
    for (const session of task.sessions) this.sessions.forget(session);
    if (task.sessions.size > 0) {
      const commands = [...task.sessions].flatMap((s) => [
        { op: "evict" as const, entry: `session:${s}` as const, keepHost: false },
        { op: "dropHost" as const, entry: `session:${s}` as const },
      ]);
      void this.engine_.apply(commands);
    }
    this.requestDecision();
  }

  private decideNow(): void {
    if (this.closed || !this.engineUp) return;
    try {
      for (let pass = 0; pass < PASSES_PER_INSTANT; pass++) {
        const now = this.now();
        const decision = decide(this.state, this.policy, now);
        this.counters_.decisions_total++;
        this.counters_.decision_seconds_total += this.now() - now;
        if (pass === 0 || decision.admit.length > 0) this.records.note(decision, this.waiting, now);
        if (this.isEmpty(decision)) {
          this.scheduleWake(decision.wakeAtSeconds, now);
          break;
        }
        this.lastDecision = decision;
        this.apply({ kind: "committed", at: now, decision });
        carryOut(this, decision, now);
        this.scheduleWake(decision.wakeAtSeconds, now);
        if (decision.preempt.length > 0) break;
      }
    } catch (error) {
      this.counters_.scheduler_errors_total++;
      this.options.log?.("error", "scheduler failed; falling back to passthrough", {
        error: String(error),
        policy: this.chosenPolicy,
      });
      if (this.chosenPolicy === "passthrough") throw error;
      this.setPolicy("passthrough");
    }
  }

  private isEmpty(d: Decision): boolean {
    return d.admit.length === 0 && d.preempt.length === 0 && d.load.length === 0 && d.evict.length === 0;
  }

  private scheduleWake(atSeconds: number | null, now: number): void {
    if (this.wake !== null) clearTimeout(this.wake);
    this.wake = null;
    if (atSeconds === null) return;
    this.wake = setTimeout(() => this.onTimer(), Math.max(1, (atSeconds - now) * 1000));
    this.wake.unref();
  }

  private onTimer(): void {
    this.apply({ kind: "timer", at: this.now() });
    this.requestDecision();
  }

  /** Once a second: deadlines, idle tasks, and a decision while something waits (orders whose keys move with time). */
  private onTick(): void {
    const now = this.now();
    const deadline = this.options.queueDeadlineSeconds ?? 600;
    for (const record of [...this.waiting.values()]) {
      if (record.submitted || now - record.arrivedSeconds < deadline) continue;
      this.counters_.queue_timeout_total++;
      this.endUnsubmitted(record, "failed", new GatewayError(this.engineUp ? "queue_timeout" : "engine_unavailable"));
    }
    for (const task of this.tasks.idle(now)) {
      this.counters_.tasks_expired_total++;
      this.closeTask(task, "taskCancelled");
    }
    if (this.waiting.size > 0) this.onTimer();
  }

  private retryAfterSeconds(): number {
    const rate = this.counters_.calls_finished_total / Math.max(1, this.now());
    return Math.min(30, Math.max(1, Math.ceil(1 / Math.max(rate, 0.5))));
  }
}
