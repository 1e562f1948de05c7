/** The demo's work: two real agent shapes, sized for a CPU engine. Same seed, same prompts, arrivals and lengths. */
export interface DemoCall {
  readonly stage: string;
  readonly agent: string;
  readonly after: readonly string[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Tool wait before this call is sent, milliseconds. */
  readonly thinkMs: number;
}

export interface DemoTask {
  readonly id: string;
  readonly workflow: "supervisor" | "fork-join";
  readonly arrivalMs: number;
  readonly calls: readonly DemoCall[];
}

/** Agent name → tokens of its system prompt. */
export const AGENTS: Readonly<Record<string, number>> = {
  supervisor: 1100,
  researcher: 900,
  coder: 1300,
  reviewer: 700,
  planner: 500,
  writer: 800,
};

export interface DemoOptions {
  readonly seed: number;
  readonly tasksPerWorkflow: number;
  readonly meanGapMs: number;
}

/** Poisson arrivals, both workflows interleaved; output lengths lognormal-ish between 12 and 120 tokens. */
export function demoTasks(options: DemoOptions): DemoTask[] {
  const random = mulberry32(options.seed);
  const between = (low: number, high: number): number => Math.round(low + random() * (high - low));
  const output = (): number => Math.min(120, Math.max(12, Math.round(36 * Math.exp(0.6 * normal(random)))));
  const call = (stage: string, agent: string, after: readonly string[]): DemoCall => ({
    stage,
    agent,
    after,
    inputTokens: between(40, 140),
    outputTokens: output(),
    thinkMs: after.length === 0 ? 0 : between(5, 60),
  });
  const specialists = ["researcher", "coder", "reviewer"] as const;
  const tasks: DemoTask[] = [];
  let arrivalMs = 0;
  for (let i = 0; i < 2 * options.tasksPerWorkflow; i++) {
    const workflow = i % 2 === 0 ? "supervisor" : "fork-join";
    const calls: DemoCall[] = [];
    if (workflow === "supervisor") {
      calls.push(call("lead-1", "supervisor", []));
      for (let round = 1; round <= 2; round++) {
        const agent = specialists[between(0, 2)] ?? "coder";
        calls.push(call(`work-${round}`, agent, [`lead-${round}`]), call(`lead-${round + 1}`, "supervisor", [`work-${round}`]));
      }
    } else {
      calls.push(call("plan", "planner", []));
      for (const agent of specialists) calls.push(call(`branch-${agent}`, agent, ["plan"]));
      calls.push(
        call(
          "join",
          "writer",
          specialists.map((a) => `branch-${a}`),
        ),
      );
    }
    tasks.push({ id: `${workflow}-${i}`, workflow, arrivalMs: Math.round(arrivalMs), calls });
    arrivalMs += -Math.log(1 - random()) * options.meanGapMs;
  }
  return tasks;
}

/** Text of exactly `tokens` tokens in the made models' vocabulary: words ` w0000`…, one token each. */
export function words(tokens: number, seed: number): string {
  const random = mulberry32(seed);
  let text = "";
  for (let i = 0; i < tokens; i++) text += ` w${String(Math.floor(random() * 2500)).padStart(4, "0")}`;
  return text;
}

function mulberry32(seed: number): () => number {
  let a = seed >>> 0;
  return () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
