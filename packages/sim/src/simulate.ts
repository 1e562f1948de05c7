import { checkInvariants, feasible, type CoreConfig, type Policy } from "@topas/core";
import { createClock, type DueKind } from "./clock.ts";
import { buildJoint, buildStock, isJoint } from "./engine/build.ts";
import type { Call } from "./engine/call.ts";
import type { VirtualEngine } from "./engine/engine.ts";
import { Governor } from "./engine/governor.ts";
import type { EngineListener } from "./engine/machine.ts";
import type { Recorder } from "./engine/recorder.ts";
import { TaskRunner, type TaskCall, type TaskRecord } from "./engine/task-runner.ts";
import type { JointEngine } from "./rules/joint.ts";
import type { JointListener } from "./rules/joint-types.ts";
import { POOL_MARGIN_TOKENS, type RulesId } from "./rules/rules.ts";
import { coreConfig, horizonOf, policyOf, type SimConfig } from "./sim-config.ts";
import type { SimTask } from "./task.ts";

export interface CallResult {
  readonly id: string;
  readonly task: string;
  readonly stage: string;
  readonly agent: string;
  readonly round: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly readySeconds: number;
  readonly admittedSeconds: number;
  readonly firstTokenSeconds: number;
  readonly finishedSeconds: number;
  readonly cachedTokens: number;
  readonly redoneTokens: number;
  readonly preemptions: number;
}

/** A call that was ready and not finished when the run was stopped. */
export interface OpenCall {
  readonly id: string;
  readonly task: string;
  readonly agent: string;
  readonly promptTokens: number;
  readonly readySeconds: number;
  readonly admittedSeconds: number | null;
  readonly firstTokenSeconds: number | null;
  readonly cachedTokens: number;
  readonly redoneTokens: number;
  readonly preemptions: number;
}

export interface SimResult {
  readonly rules: RulesId;
  readonly policy: string | null;
  readonly budgetTokens: number;
  readonly calls: readonly CallResult[];
  readonly tasks: readonly TaskRecord[];
  readonly endSeconds: number;
  readonly recorder: Recorder;
  /** Tasks not over at `endSeconds`: none, unless the run was stopped. */
  readonly openTasks: readonly SimTask[];
  readonly openCalls: readonly OpenCall[];
  /** True: the horizon came before the last task was over. Times of `tasks` are then those of the survivors. */
  readonly stopped: boolean;
  readonly movedBytes: number;
  /** Time the copy channel was at work. */
  readonly moveSeconds: number;
  readonly decisions: number;
  /** Decisions after which something waited; null when no policy decides who is admitted. */
  readonly contendedDecisions: number | null;
  /** Counters of the core, empty without a policy. */
  readonly counters: Readonly<Record<string, number>>;
  readonly stepHash: string;
}

/** Runs every task to its end, or up to the horizon, in virtual time. Equal configurations give byte-identical results. */
export function simulate(config: SimConfig): SimResult {
  return new Simulation(config).run();
}

class Simulation {
  private readonly config: SimConfig;
  private readonly clock = createClock();
  private readonly engine: VirtualEngine;
  private readonly joint: JointEngine | null = null;
  private readonly governor: Governor | null = null;
  private readonly runner: TaskRunner;
  private readonly core: CoreConfig;
  private readonly live = new Map<string, TaskCall>();
  private readonly fresh: TaskCall[] = [];
  /** Of a stock engine without a policy. */
  private readonly submitted = new Map<string, Call>();
  private readonly calls: CallResult[] = [];
  private readonly tasks: TaskRecord[] = [];

  constructor(config: SimConfig) {
    this.config = config;
    this.core = coreConfig(config);
    const { profile, rules, rulesOptions = {} } = config;
    const recorder = { gaps: false, log: "hash", ...config.record } as const;
    const budgetTokens = this.core.budgetTokens!;
    const listener: EngineListener = {
      token: () => {},
      finished: (call, at) => this.callDone(call, at),
      preempted: (call, at) => this.governor?.lost(call, at),
      later: (at, id) => this.clock.at(at, "copied", id, () => {}),
    };
    const build = { profile, rules, rulesOptions, budgetTokens, listener, recorder };
    const policy = policyOf(config);
    if (isJoint(rules)) {
      const heard: { listener: JointListener | null } = { listener: null };
      this.joint = buildJoint(build, forward(heard));
      this.engine = this.joint;
      this.governor = this.govern(policy!);
      heard.listener = this.governor.listener();
    } else {
      this.engine = buildStock({ ...build, rules });
      if (policy !== null) this.governor = this.govern(policy);
    }
    this.runner = new TaskRunner(config.agents, {
      arrived: (task, at) => this.arrived(task, at),
      ready: (call, at) => this.ready(call, at),
      stageOver: (task, stage, at) => this.stageOver(task, stage, at),
      taskOver: (record) => this.taskOver(record),
      later: (at, kind, id, run) => this.clock.at(at, kind, id, run),
    });
    for (const task of config.tasks) this.runner.add(task);
  }

  run(): SimResult {
    const { clock, engine, governor } = this;
    let stepEnds: number | null = null;
    const horizon = horizonOf(this.config);
    let now = 0;
    let decidedAtStep = 0;
    const { decisionsWithoutStep = 10_000 } = this.config;
    for (;;) {
      const due = clock.nextSeconds();
      if (Math.min(stepEnds ?? Infinity, due ?? Infinity) > horizon && (stepEnds ?? due) !== null)
        return this.result(horizon, true);
      if (stepEnds !== null && (due === null || stepEnds <= due)) {
        now = stepEnds;
        clock.nowSeconds = now;
        stepEnds = null;
        engine.end(now);
        decidedAtStep = governor?.decisions ?? 0;
        this.check();
        if (due === now) clock.advance();
      } else if (due !== null) {
        clock.advance();
        now = clock.nowSeconds;
        this.check();
      } else break;
      if (clock.nextSeconds() === now) continue;
      if ((governor?.decisions ?? 0) - decidedAtStep > decisionsWithoutStep)
        throw new Error(
          `livelock at ${now} s: ${this.config.policy} made ${decisionsWithoutStep} decisions and the engine no step`,
        );
      if (governor === null) this.submitFresh(now);
      else governor.settle(now);
      if (stepEnds === null) {
        const seconds = engine.start(now);
        if (seconds !== null) stepEnds = now + seconds;
        governor?.settle(now);
        this.check();
        if (seconds === null && this.idle()) break;
      }
    }
    if (this.live.size > 0) throw new Error(`stalled at ${now} s with ${this.live.size} calls open`);
    return this.result(now, false);
  }

  /** Calls of one instant reach a stock engine in the order of their ids, as a gateway sends them. */
  private submitFresh(now: number): void {
    if (this.fresh.length === 0) return;
    for (const call of this.fresh.toSorted((a, b) => (a.id < b.id ? -1 : 1)))
      this.submitted.set(call.id, this.engine.submit(call.spec, now));
    this.fresh.length = 0;
  }

  /** Nothing runs and nothing is due. */
  private idle(): boolean {
    return this.clock.nextSeconds() === null && this.governor?.isDue !== true;
  }

  private openCall(call: TaskCall): OpenCall {
    const live = this.submitted.get(call.id) ?? this.governor?.liveOf(call.id) ?? null;
    const reached = (seconds = -1): number | null => (seconds < 0 ? null : seconds);
    return {
      id: call.id,
      task: call.task.id,
      agent: call.agent,
      promptTokens: (call.prefix?.tokens ?? 0) + call.ownPromptTokens,
      readySeconds: call.readySeconds,
      admittedSeconds: reached(live?.admittedSeconds),
      firstTokenSeconds: reached(live?.firstTokenSeconds),
      cachedTokens: live?.cachedTokens ?? 0,
      redoneTokens: live?.redoneTokens ?? 0,
      preemptions: live?.preemptions ?? 0,
    };
  }

  private result(now: number, stopped: boolean): SimResult {
    const { config, engine, governor } = this;
    const { recorder } = engine.machine;
    const over = new Set(this.tasks.map(({ task }) => task));
    return {
      rules: config.rules,
      policy: config.policy ?? null,
      budgetTokens: engine.machine.budgetTokens,
      calls: this.calls,
      tasks: this.tasks,
      endSeconds: now,
      recorder,
      openTasks: config.tasks.filter((task) => !over.has(task)),
      openCalls: [...this.live.values()].map((call) => this.openCall(call)),
      stopped,
      movedBytes: engine.channel.movedBytes,
      moveSeconds: engine.channel.busySeconds,
      contendedDecisions: governor?.governs === true ? governor.contended : null,
      decisions: governor?.decisions ?? 0,
      counters: governor?.state.counters ?? {},
      stepHash: recorder.hash(),
    };
  }

  private govern(policy: Policy): Governor {
    return new Governor({
      config: this.core,
      policy,
      joint: this.joint,
      engine: this.engine,
      later: (at: number, kind: DueKind, id: string, run: (at: number) => void) => this.clock.at(at, kind, id, run),
      onEvent: this.config.onEvent ?? null,
    });
  }

  private arrived(task: SimTask, at: number): void {
    this.governor?.send({
      kind: "taskArrived",
      at,
      task: { id: task.id, tenant: task.tenant ?? "", workflow: task.workflow, arrivalSeconds: task.arrivalSeconds },
    });
    if (task.graph !== null) this.governor?.send({ kind: "graphRevealed", at, task: task.id, graph: task.graph });
  }

  private ready(call: TaskCall, at: number): void {
    const size = { prefixTokens: call.prefix?.tokens ?? 0, ownPromptTokens: call.ownPromptTokens, maxTokens: call.maxTokens };
    const fits = feasible(this.core, size);
    const whole = size.prefixTokens + size.ownPromptTokens + call.spec.outputTokens + POOL_MARGIN_TOKENS;
    if (!fits.ok || whole > this.engine.machine.budgetTokens)
      throw new RangeError(`call ${call.id} needs ${whole} tokens and can never fit in ${this.engine.machine.budgetTokens}`);
    this.live.set(call.id, call);
    if (this.governor === null) this.fresh.push(call);
    else this.governor.ready(call, at);
  }

  private callDone(live: Call, at: number): void {
    const call = this.live.get(live.spec.id)!;
    this.live.delete(call.id);
    this.submitted.delete(call.id);
    const {
      promptTokens,
      outputTokens,
      admittedSeconds,
      firstTokenSeconds,
      finishedSeconds,
      cachedTokens,
      redoneTokens,
      preemptions,
    } = live;
    const { id, stage, agent, round, readySeconds } = call;
    const sizes = { promptTokens, outputTokens, readySeconds, admittedSeconds, firstTokenSeconds, finishedSeconds };
    this.calls.push({ id, task: call.task.id, stage, agent, round, ...sizes, cachedTokens, redoneTokens, preemptions });
    const retain = this.joint !== null && call.session !== null && (this.config.keepSessions ?? true);
    if (retain) this.joint!.retain(live, `session:${call.session!.id}`);
    this.governor?.finished(live, retain ? live.filled : 0, at);
    this.runner.callDone(call, at);
  }

  private stageOver(task: SimTask, stage: string, at: number): void {
    this.governor?.send({ kind: "stageDone", at, task: task.id, stage });
  }

  private taskOver(record: TaskRecord): void {
    this.tasks.push(record);
    this.governor?.send({ kind: "taskDone", at: record.doneSeconds, task: record.task.id });
  }

  private check(): void {
    if (this.config.check !== true) return;
    const broken = this.engine.check();
    if (this.joint !== null) broken.push(...checkInvariants(this.governor!.state).map((rule) => `core: ${rule}`));
    if (broken.length > 0) throw new Error(`at ${this.clock.nowSeconds} s: ${broken.join("; ")}`);
  }
}

/** The engine exists before its listener does. */
function forward(heard: { listener: JointListener | null }): JointListener {
  const to = (): JointListener => heard.listener!;
  return {
    loaded: (...a) => to().loaded(...a),
    loadFailed: (...a) => to().loadFailed(...a),
    evicted: (...a) => to().evicted(...a),
    hostDropped: (...a) => to().hostDropped(...a),
    released: (...a) => to().released(...a),
    overflow: (...a) => to().overflow(...a),
    later: (...a) => to().later(...a),
  };
}
