import { createState, step } from "@topas/core";
import type { CoreEvent, Graph, PolicyChanges, State, decide } from "@topas/core";
import type { Engine, EngineDescription } from "@topas/engines";
import { coreConfig } from "./loop/engine-view.ts";
import { admissible, withoutVolatilePrefix } from "./loop/door.ts";
import { Decider } from "./loop/decider.ts";
import { newCounters } from "./loop/counters.ts";
import { closeTask, endUnsubmitted } from "./loop/endings.ts";
import type { TimeSummary } from "./loop/decision-times.ts";
import { onEngineEvent } from "./loop/engine-events.ts";
import { RecordBook, explanation, type CallRecord } from "./loop/records.ts";
import { newRetryWindow } from "./loop/retry.ts";
import { SessionMemory } from "./loop/session-memory.ts";
import { loopDefaults, withSettings, type LoopSettings } from "./loop/settings.ts";
import { createShadow, type Shadow } from "./loop/shadow.ts";
import { snapshot } from "./loop/snapshot.ts";
import { onTick } from "./loop/tick.ts";
import { TaskBook, withinTask } from "./loop/task-book.ts";
import { createPrefixWatch } from "./identify/prefix-watch.ts";
import { scopedTaskId } from "./identify/frame.ts";
import type { WorkflowStore } from "./workflows.ts";
import type { Journal } from "./journal.ts";
import type { ProfileStore } from "./profile-store.ts";
import { tellTask, type TaskIdentity } from "./loop/tell-core.ts";
import type { Explanation, Fallback, Health, ScheduledCall, Scheduler, StateSnapshot } from "./scheduler.ts";

export interface LoopOptions extends Partial<LoopSettings> {
  readonly engine: Engine;
  readonly policy: string;
  /** Of `policy`; another one gets its own with `setPolicy`. passthrough takes none. */
  readonly policyOptions?: PolicyChanges;
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
  readonly retries = newRetryWindow();
  readonly tasks = new TaskBook();
  readonly records: RecordBook;
  state: State;
  description: EngineDescription;
  engineUp = true;
  lastMovedSeconds: number;
  settings: LoopSettings;
  shadow: Shadow | null = null;
  readonly decider: Decider;
  closed = false;
  private readonly tick: NodeJS.Timeout;
  private readonly unsubscribe: () => void;

  /** `engine` must have been started. */
  constructor(options: LoopOptions) {
    this.options = options;
    this.settings = withSettings(loopDefaults, options);
    this.engine_ = options.engine;
    this.description = options.engine.describe();
    this.state = createState(coreConfig(this.description), options.profiles?.load());
    this.decider = new Decider(this, options.policy, options.policyOptions ?? {});
    if (options.shadow !== undefined) this.setShadow(options.shadow);
    this.records = new RecordBook(options.explainKeep ?? 10_000);
    this.lastMovedSeconds = this.now();
    this.unsubscribe = this.engine_.subscribe((event) => onEngineEvent(this, event));
    this.tick = setInterval(() => onTick(this), 1_000);
    this.tick.unref();
  }

  get policyId(): string {
    return this.decider.policyId;
  }

  get policyOptions(): PolicyChanges {
    return this.decider.policyOptions;
  }

  get queueFull(): boolean {
    return this.waiting.size >= this.settings.queueLimit;
  }

  get fallback(): Fallback | null {
    return this.decider.fallback;
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
    if (this.waiting.size + this.running.size === 0) this.lastMovedSeconds = now;
    this.counters_.calls_total++;
    const task = tellTask(this, asked.identity, now);
    const call = withinTask(task, withoutVolatilePrefix(this, asked));
    const { identity, prompt } = call;
    task.calls.add(call.id);
    if (identity.taskIsCall) task.final = true;
    const record = this.records.open(call, now, this.decider.policyId);
    this.waiting.set(call.id, record);
    const prefixTokens = prompt.prefix?.tokens ?? 0;
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
    endUnsubmitted(this, record, "cancelled");
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
    closeTask(this, open, outcome === "done" ? "taskDone" : "taskCancelled");
    return true;
  }

  setPolicy(id: string, options?: PolicyChanges): void {
    const before = this.policyId;
    this.decider.use(id, options);
    this.options.log?.("info", "policy switched", { before, policy: id });
  }

  /** Takes effect with the next call, tick and decision; nobody who waits or runs is touched. */
  change(settings: Partial<LoopSettings>): void {
    this.settings = withSettings(this.settings, settings);
  }

  /** null: none. @throws GatewayError 400 `unknown_policy`, or `invalid_request` without a journal. */
  setShadow(id: string | null): void {
    this.shadow = id === null ? null : createShadow(this, id);
  }

  explain(id: string): Explanation | null {
    const record = this.records.get(id);
    return record === undefined ? null : explanation(record, this.now());
  }

  snapshot(): StateSnapshot {
    return snapshot({
      state: this.state,
      policy: this.decider.policyId,
      fallback: this.fallback,
      volatilePrefixes: this.prefixes.volatile(),
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
      policy_fallback: this.fallback === null ? 0 : 1,
    };
  }

  health(): Health {
    if (this.closed) return { ready: false, reason: "shutting_down" };
    if (!this.engineUp) return { ready: false, reason: "engine_unavailable" };
    const idle = this.waiting.size === 0 && this.running.size === 0;
    if (!idle && this.now() - this.lastMovedSeconds > this.settings.stallSeconds) return { ready: false, reason: "no_progress" };
    return { ready: true, reason: null };
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.tick);
    this.decider.close();
    for (const record of this.waiting.values()) if (!record.submitted) endUnsubmitted(this, record, "cancelled");
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
}
