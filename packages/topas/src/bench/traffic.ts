import { createState, step, type CoreConfig, type CoreEvent, type Decision, type Graph, type State } from "@topas/core";

export interface TrafficSize {
  readonly waiting: number;
  readonly running: number;
  readonly agents: number;
  readonly seed: number;
}

/** mulberry32: one unsigned 32-bit stream, so that a size and a seed always make the same states. */
export function stream(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A chain, a diamond and a fan over the given agents. */
function shape(kind: number, agents: readonly string[]): Graph {
  const stages = agents.slice(0, [3, 4, 6][kind]).map((agent) => ({ id: `on-${agent}`, agent }));
  const edges = [
    [0, 1, 1, 2],
    [0, 1, 0, 2, 1, 3, 2, 3],
    [0, 1, 0, 2, 0, 3, 0, 4, 0, 5],
  ][kind]!;
  const pairs: [string, string][] = [];
  for (let i = 0; i < edges.length; i += 2) {
    const [from, to] = [stages[edges[i]!], stages[edges[i + 1]!]];
    if (from !== undefined && to !== undefined) pairs.push([from.id, to.id]);
  }
  return { stages, edges: pairs };
}

/**
 * Contended traffic for timing decisions: the KV budget holds about `running` calls and a third of the prefixes, `waiting`
 * calls queue, and between two decisions every running call decodes, one call ends, its successors and new tasks arrive.
 */
export class Traffic {
  readonly state: State;
  private readonly size: TrafficSize;
  private readonly random: () => number;
  private readonly prefixTokens: readonly number[];
  private nowSeconds = 0;
  private made = 0;

  constructor(size: TrafficSize) {
    this.size = size;
    this.random = stream(size.seed);
    this.prefixTokens = Array.from({ length: size.agents }, () => 800 + Math.floor(this.random() * 3_200));
    const pinned = (Math.min(size.agents, size.running) * 2_400) / 3;
    const config: CoreConfig = {
      budgetTokens: Math.round((size.running * 700 + pinned) / 16) * 16,
      blockTokens: 16,
      maxRunning: 2 * size.running,
      contextTokens: null,
      speeds: {
        prefillSecondsPerToken: 0.0003,
        decodeSecondsPerToken: 0.05,
        kvBytesPerToken: 262_144,
        copyBytesPerSecond: 24e9,
      },
      hostTier: true,
      redo: "redecode",
      failsOnOverflow: false,
      headroomTokens: 0,
    };
    this.state = createState(config);
  }

  get now(): number {
    return this.nowSeconds;
  }

  /** Brings the queue up to its size. */
  refill(waiting = this.size.waiting): void {
    while (this.state.waiting.size < waiting) this.newTask();
  }

  /** One event's worth of time: all running calls decode, the furthest one ends, what follows becomes ready. */
  advance(): void {
    this.nowSeconds += 0.4;
    const at = this.nowSeconds;
    const running = [...this.state.running.values()];
    if (running.length === 0) return;
    for (const { prefix } of running) {
      const entry = prefix === null ? undefined : this.state.entries.get(prefix);
      if (entry?.phase === "loading") this.send({ kind: "loaded", at, entry: entry.id, computedTokens: 0 });
    }
    const deltas = running.map((request) => ({
      request: request.spec.id,
      prefilled: Math.max(0, request.spec.ownPromptTokens + request.redoneTokens - request.filledTokens),
      decoded: 8,
    }));
    this.send({ kind: "progress", at, deltas });
    const last = running.reduce((a, b) => (b.decodedTokens > a.decodedTokens ? b : a)).spec;
    this.send({ kind: "roundDone", at, request: last.id, retainedTokens: 0 });
    const task = this.state.tasks.get(last.task);
    if (task === undefined) return;
    if ([...task.stages.values()].every((stage) => stage.status === "done")) this.send({ kind: "taskDone", at, task: task.id });
    else this.callReadyStages(task.id);
  }

  /** Commits a decision and confirms what the engine would. */
  carryOut(decision: Decision): void {
    const at = this.nowSeconds;
    this.send({ kind: "committed", at, decision });
    for (const { request } of decision.preempt) this.send({ kind: "preempted", at, request, by: "us", keptTokens: 0 });
    for (const { entry, keepHost } of decision.evict) this.send({ kind: "evicted", at, entry, keptOnHost: keepHost });
  }

  private newTask(): void {
    const id = `task${this.made++}`;
    const names = this.prefixTokens.map((_, i) => `agent${i}`);
    for (let i = 0; i < 6; i++) {
      const j = i + Math.floor(this.random() * (names.length - i));
      [names[i], names[j]] = [names[j]!, names[i]!];
    }
    const at = this.nowSeconds;
    this.send({ kind: "taskArrived", at, task: { id, tenant: "x", workflow: null, arrivalSeconds: at } });
    this.send({ kind: "graphRevealed", at, task: id, graph: shape(Math.floor(this.random() * 3), names) });
    this.callReadyStages(id);
  }

  private callReadyStages(id: string): void {
    const task = this.state.tasks.get(id)!;
    const ready = [...task.stages.values()].filter((stage) => stage.status === "ready" && stage.request === null);
    for (const { id: stage, agent } of ready) {
      const output = Math.ceil(8 + 500 * this.random() ** 2);
      const request = {
        id: `call${this.made++}`,
        task: id,
        stage,
        agent,
        prefix: { id: agent, tokens: this.prefixTokens[Number(agent.slice(5))]! },
        ownPromptTokens: 60 + Math.floor(800 * this.random()),
        maxTokens: 1_024,
        expectedOutputTokens: this.random() < 0.5 ? output : null,
        session: null,
      };
      this.send({ kind: "ready", at: this.nowSeconds, request });
    }
  }

  private send(event: CoreEvent): void {
    step(this.state, event);
  }
}
