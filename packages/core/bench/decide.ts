import { performance } from "node:perf_hooks";
import type { CoreConfig } from "../src/config.ts";
import { decide } from "../src/decide.ts";
import type { Graph, RequestSpec } from "../src/events.ts";
import type { Policy } from "../src/policy/policy.ts";
import { createPolicy } from "../src/policy/registry.ts";
import { createState, generatedTokens, type State } from "../src/state.ts";
import { step } from "../src/step.ts";

export interface DecideCase {
  readonly policy: string;
  readonly waiting: number;
  readonly running: number;
  readonly agents: number;
  readonly decisions: number;
  readonly seed: number;
  /** cpu: time of this process only, for shared machines; wall by default. */
  readonly clock?: "wall" | "cpu";
}

export interface DecideLatency extends DecideCase {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanMs: number;
  readonly maxMs: number;
  /** Applying one event between two decisions, microseconds. */
  readonly stepUs: number;
  readonly admissions: number;
  readonly preemptions: number;
}

/** One unsigned 32-bit stream (mulberry32): the generator's own randomness, split per case. */
function stream(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = a;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

const SHAPES: readonly ((names: readonly string[]) => Graph)[] = [
  ([a, b, c]) => ({ stages: [of(a!), of(b!), of(c!)], edges: [pair(a!, b!), pair(b!, c!)] }),
  ([a, b, c, d]) => ({
    stages: [of(a!), of(b!), of(c!), of(d!)],
    edges: [pair(a!, b!), pair(a!, c!), pair(b!, d!), pair(c!, d!)],
  }),
  (names) => ({ stages: names.slice(0, 6).map(of), edges: names.slice(1, 6).map((name) => pair(names[0]!, name)) }),
];
const of = (agent: string) => ({ id: `on-${agent}`, agent });
const pair = (from: string, to: string): readonly [string, string] => [`on-${from}`, `on-${to}`];

/** Tasks of three shapes over one set of agents; calls arrive as their stages become ready, the engine holds about `running`. */
class Traffic {
  readonly state: State;
  nowSeconds = 0;
  #tasks = 0;
  #calls = 0;
  stepMs = 0;
  steps = 0;
  private readonly random: () => number;
  private readonly prefixTokens: readonly number[];

  constructor({ agents, running, seed }: DecideCase) {
    this.random = stream(seed);
    this.prefixTokens = Array.from({ length: agents }, () => 800 + Math.floor(this.random() * 3_200));
    const own = 700;
    const pinned = (Math.min(agents, running) * 2_400) / 3;
    const config: CoreConfig = {
      budgetTokens: Math.round((running * own + pinned) / 16) * 16,
      blockTokens: 16,
      maxRunning: 2 * running,
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

  send(event: Parameters<typeof step>[1]): void {
    const start = performance.now();
    step(this.state, event);
    this.stepMs += performance.now() - start;
    this.steps += 1;
  }

  /** A new task; its roots become waiting calls. */
  arrive(): void {
    const id = `task${this.#tasks++}`;
    const names = this.prefixTokens
      .map((_, i) => ({ i, at: this.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ i }) => `agent${i}`);
    const at = this.nowSeconds;
    this.send({ kind: "taskArrived", at, task: { id, tenant: "x", workflow: null, arrivalSeconds: at } });
    this.send({ kind: "graphRevealed", at, task: id, graph: SHAPES[Math.floor(this.random() * SHAPES.length)]!(names) });
    this.callReadyStages(id);
  }

  callReadyStages(id: string): void {
    const task = this.state.tasks.get(id);
    if (task === undefined) return;
    const calls = [...task.stages.values()].filter((stage) => stage.status === "ready" && stage.request === null);
    for (const { id: stage, agent } of calls) {
      const index = Number(agent.slice(5));
      const output = Math.ceil(8 + 500 * this.random() ** 2);
      const request: RequestSpec = {
        id: `call${this.#calls++}`,
        task: id,
        stage,
        agent,
        prefix: { id: agent, tokens: this.prefixTokens[index]! },
        ownPromptTokens: 60 + Math.floor(800 * this.random()),
        maxTokens: 1_024,
        expectedOutputTokens: this.random() < 0.5 ? output : null,
        session: null,
      };
      this.send({ kind: "ready", at: this.nowSeconds, request });
    }
  }

  /** Time passes: every running call decodes a little, one ends and its successors become ready. */
  advance(): void {
    this.nowSeconds += 0.4;
    const at = this.nowSeconds;
    const running = [...this.state.running.values()];
    for (const request of running) this.firstTouch(request.prefix);
    const deltas = running.map((request) => ({
      request: request.spec.id,
      prefilled: Math.max(0, request.spec.ownPromptTokens + request.redoneTokens - request.filledTokens),
      decoded: 8,
    }));
    this.send({ kind: "progress", at, deltas });
    if (running.length === 0) return;
    const oldest = running.reduce((a, b) => (generatedTokens(b) > generatedTokens(a) ? b : a));
    this.send({ kind: "roundDone", at, request: oldest.spec.id, retainedTokens: 0 });
    const task = this.state.tasks.get(oldest.spec.task)!;
    if ([...task.stages.values()].every((stage) => stage.status === "done")) this.send({ kind: "taskDone", at, task: task.id });
    else this.callReadyStages(task.id);
  }

  private firstTouch(prefix: RequestSpecPrefix): void {
    const entry = prefix === null ? undefined : this.state.entries.get(prefix);
    if (entry?.phase === "loading")
      this.send({ kind: "loaded", at: this.nowSeconds, entry: entry.id, computedTokens: entry.onHost ? 0 : entry.tokens });
  }

  /** Commits a decision and confirms what the engine would. */
  carryOut(decision: ReturnType<typeof decide>): void {
    const at = this.nowSeconds;
    this.send({ kind: "committed", at, decision });
    for (const { request } of decision.preempt) this.send({ kind: "preempted", at, request, by: "us", keptTokens: 0 });
    for (const { entry, keepHost } of decision.evict) this.send({ kind: "evicted", at, entry, keptOnHost: keepHost });
  }
}
type RequestSpecPrefix = NonNullable<ReturnType<State["running"]["get"]>>["prefix"];

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Builds a mixed state of the wanted size, then times `decisions` decisions with traffic in between. */
export function measureDecide(run: DecideCase, policy: Policy = createPolicy(run.policy)!): DecideLatency {
  const traffic = new Traffic(run);
  const { state } = traffic;
  const filler = createPolicy("fcfs", { fit: "over" })!;
  while (state.waiting.size < run.running * 2) traffic.arrive();
  for (let i = 0; i < 40; i++) {
    traffic.advance();
    while (state.waiting.size < run.running * 2) traffic.arrive();
    traffic.carryOut(decide(state, filler, traffic.nowSeconds));
  }
  while (state.waiting.size < run.waiting) traffic.arrive();
  traffic.stepMs = traffic.steps = 0;
  const now = run.clock === "cpu" ? cpuMs : () => performance.now();
  const times: number[] = [];
  let admissions = 0;
  let preemptions = 0;
  const warm = Math.min(200, Math.ceil(run.decisions / 4));
  for (let i = 0; i < run.decisions + warm; i++) {
    traffic.advance();
    while (state.waiting.size < run.waiting) traffic.arrive();
    const start = now();
    const decision = decide(state, policy, traffic.nowSeconds);
    const ms = now() - start;
    if (i >= warm) times.push(ms);
    admissions += decision.admit.length;
    preemptions += decision.preempt.length;
    traffic.carryOut(decision);
  }
  times.sort((a, b) => a - b);
  const at = (q: number): number => times[Math.min(times.length - 1, Math.floor(q * times.length))]!;
  return {
    ...run,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    meanMs: times.reduce((a, b) => a + b, 0) / times.length,
    maxMs: times[times.length - 1]!,
    stepUs: (1_000 * traffic.stepMs) / Math.max(1, traffic.steps),
    admissions,
    preemptions,
  };
}

/** The table of section 7: policies x queue lengths. */
export function measureTable(
  policies: readonly string[],
  waiting: readonly number[],
  running = 20,
  clock: "wall" | "cpu" = "wall",
): DecideLatency[] {
  return policies.flatMap((policy) =>
    waiting.map((n) =>
      measureDecide({ policy, waiting: n, running, agents: 30, decisions: n >= 10_000 ? 150 : 1_500, seed: 7, clock }),
    ),
  );
}

export function formatTable(rows: readonly DecideLatency[]): string {
  const head = "policy waiting running p50 p99 mean max(ms) step(us) admitted preempted".split(" ");
  const cells = rows.map((row) => [
    row.policy,
    String(row.waiting),
    String(row.running),
    ...[row.p50Ms, row.p99Ms, row.meanMs, row.maxMs].map((ms) => ms.toFixed(3)),
    row.stepUs.toFixed(1),
    String(row.admissions),
    String(row.preemptions),
  ]);
  const table = [head, ...cells];
  const widths = head.map((_, i) => Math.max(...table.map((line) => line[i]!.length)));
  return table.map((line) => line.map((cell, i) => cell.padStart(widths[i]!)).join("  ")).join("\n");
}
