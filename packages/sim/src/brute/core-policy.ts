import { createState, decide, step, type CoreConfig, type CoreEvent, type EntryId, type Policy, type State } from "@topas/core";
import type { FlatCall, UnitInstance } from "./unit-engine.ts";
import type { UnitPolicy, UnitView } from "./unit-run.ts";

const PASSES_PER_INSTANT = 4;

/**
 * A core policy as a player on the unit engine: a unit is a second and a token, a call's KV is its prompt and its units, a load
 * is a copy. The core hears of arrivals, ends and evictions as they happen; what the engine did not start it hears as refused.
 * Timers are not served, so a policy that waits on purpose may stall, which the run reports.
 */
export function corePolicy(instance: UnitInstance, policy: Policy): UnitPolicy {
  const player = new CorePlayer(instance, policy);
  return (view) => player.play(view);
}

class CorePlayer {
  private readonly instance: UnitInstance;
  private readonly policy: Policy;
  private readonly state: State;
  private readonly arrived = new Set<number>();
  private readonly told = new Set<number>();
  private readonly admitted = new Set<number>();
  private readonly over = new Set<number>();
  private now = 0;

  constructor(instance: UnitInstance, policy: Policy) {
    this.instance = instance;
    this.policy = policy;
    this.state = createState(configOf(instance));
  }

  play(view: UnitView): { start: FlatCall[]; stop: FlatCall[] } {
    this.now = view.state.time;
    this.hear(view);
    const start = new Set<FlatCall>();
    const stop: FlatCall[] = [];
    for (let pass = 0; pass < PASSES_PER_INSTANT; pass++) {
      const decision = decide(this.state, this.policy, this.now);
      const { preempt, evict, load, admit } = decision;
      if (preempt.length + evict.length + load.length + admit.length === 0) break;
      this.send({ kind: "committed", at: this.now, decision });
      for (const { request } of preempt) {
        const call = view.calls[Number(request)]!;
        this.admitted.delete(call.id);
        if (!start.delete(call)) stop.push(call);
        this.send({ kind: "preempted", at: this.now, request, by: "us", keptTokens: 0 });
      }
      for (const { entry, keepHost } of evict) this.send({ kind: "evicted", at: this.now, entry, keptOnHost: keepHost });
      for (const { entry } of load) this.send({ kind: "loaded", at: this.now, entry, computedTokens: 0 });
      for (const { request } of admit) {
        this.admitted.add(Number(request));
        start.add(view.calls[Number(request)]!);
      }
      if (preempt.length > 0) break;
    }
    return { start: [...start], stop };
  }

  /** Everything since the last instant. */
  private hear({ calls, state, ready }: UnitView): void {
    for (const call of calls) {
      if (!this.admitted.has(call.id)) continue;
      if (state.left[call.id] === -1) this.ended(call, calls);
      else if (state.left[call.id] === 0)
        this.send({ kind: "refused", at: this.now, request: String(call.id), reason: "did not fit" });
      if (state.left[call.id]! <= 0) this.admitted.delete(call.id);
    }
    this.instance.agents.forEach((_, agent) => {
      const entry = entryOf(agent);
      if (state.resident[agent] === -1 && this.state.entries.get(entry)?.phase === "resident")
        this.send({ kind: "evicted", at: this.now, entry, keptOnHost: true });
    });
    this.instance.tasks.forEach((task, index) => {
      if (task.arrival > this.now || this.arrived.has(index)) return;
      this.arrived.add(index);
      const id = `t${index}`;
      this.send({ kind: "taskArrived", at: this.now, task: { id, tenant: "", workflow: null, arrivalSeconds: task.arrival } });
      this.send({ kind: "graphRevealed", at: this.now, task: id, graph: graphOf(task.calls) });
    });
    const base = firstCalls(calls);
    for (const call of ready) {
      if (this.told.has(call.id)) continue;
      this.told.add(call.id);
      this.send({ kind: "ready", at: this.now, request: requestOf(call, call.id - base[call.task]!, this.instance) });
    }
  }

  private ended(call: FlatCall, calls: readonly FlatCall[]): void {
    const request = String(call.id);
    const task = `t${call.task}`;
    this.over.add(call.id);
    this.send({
      kind: "progress",
      at: this.now,
      deltas: [{ request, prefilled: call.kvTokens - call.units, decoded: call.units }],
    });
    this.send({ kind: "roundDone", at: this.now, request, retainedTokens: 0 });
    this.send({ kind: "stageDone", at: this.now, task, stage: String(call.id - firstCalls(calls)[call.task]!) });
    if (calls.every((other) => other.task !== call.task || this.over.has(other.id)))
      this.send({ kind: "taskDone", at: this.now, task });
  }

  private send(event: CoreEvent): void {
    step(this.state, event);
  }
}

const entryOf = (agent: number): EntryId => `prefix:a${agent}` as EntryId;

function firstCalls(calls: readonly FlatCall[]): number[] {
  const out: number[] = [];
  for (const { id, task } of calls) out[task] ??= id;
  return out;
}

function graphOf(calls: UnitInstance["tasks"][number]["calls"]) {
  return {
    stages: calls.map((call, i) => ({
      id: String(i),
      agent: `a${call.agent}`,
      serviceSeconds: call.units,
      expectedOutputTokens: call.units,
    })),
    edges: calls.flatMap((call, i) => call.after.map((from) => [String(from), String(i)] as const)),
  };
}

function requestOf(call: FlatCall, stage: number, instance: UnitInstance) {
  const tokens = instance.agents[call.agent]!.prefixTokens;
  return {
    id: String(call.id),
    task: `t${call.task}`,
    stage: String(stage),
    agent: `a${call.agent}`,
    prefix: tokens === 0 ? null : { id: `a${call.agent}`, tokens },
    ownPromptTokens: Math.max(0, call.kvTokens - call.units),
    maxTokens: call.units,
    expectedOutputTokens: call.units,
    session: null,
  };
}

function configOf({ budgetTokens, slots }: UnitInstance): CoreConfig {
  return {
    budgetTokens,
    blockTokens: 1,
    maxRunning: slots,
    contextTokens: null,
    speeds: { prefillSecondsPerToken: 0.01, decodeSecondsPerToken: 1, kvBytesPerToken: 1, copyBytesPerSecond: 2 },
    hostTier: true,
    redo: "redecode",
    failsOnOverflow: false,
    headroomTokens: 0,
  };
}
