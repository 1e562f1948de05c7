import { fixed, lognormal, uniform, type Distribution } from "../distribution.ts";
import { geometric } from "../random.ts";
import type { Preset, RoundPlan, ShapeInput, StagePlan, TaskPlan } from "../preset.ts";
import { CODING_TOOL_WAIT, TOOL_WAITS } from "../tool-waits.ts";
import { agents, stage } from "./shapes.ts";

/** New tokens of a call: median 705 with a tail of large file reads. */
const newTokens: Distribution = {
  kind: "mixture",
  parts: [
    [0.98, lognormal(705, 1.1, 60, 20_000)],
    [0.02, lognormal(20_000, 0.6, 5_000, 65_000)],
  ],
};
const answer = lognormal(216, 1.15, 20, 3_700);
const session = (count: Distribution, max: number, observation: Distribution): RoundPlan => ({
  count,
  max,
  waitSeconds: CODING_TOOL_WAIT,
  observation,
});

/** One user turn. With probability 0.05 the main loop forks up to three sub-agents and waits for all of them. */
function userTurn({ rng }: ShapeInput): TaskPlan {
  const calls = Math.min(90, geometric(rng, 14));
  const main = (id: string, after: readonly string[], n: number): StagePlan =>
    stage(id, "Main", after, { prompt: newTokens, output: answer, carry: "own", rounds: session(fixed(n), n, newTokens) });
  if (rng.float() >= 0.05 || calls < 2) return { stages: [main("main", [], calls)] };
  const first = 1 + rng.int(calls - 1);
  const forks = Array.from({ length: 1 + rng.int(3) }, (_, i) =>
    stage(`explore${i + 1}`, "Explore", ["main"], {
      prompt: 1_600,
      output: answer,
      rounds: session({ kind: "geometric", mean: 11, max: 24 }, 24, lognormal(4_600, 0.7, 300, 30_000)),
    }),
  );
  return {
    stages: [
      main("main", [], first),
      ...forks,
      main(
        "main2",
        forks.map(({ id }) => id),
        calls - first,
      ),
    ],
  };
}

const claude = {
  family: "coding",
  agents: agents({ Main: 14_900, Explore: 8_700 }),
  shape: userTurn,
  revealsGraph: false,
  maxTokens: "loose",
  source: "quantiles of 710 published coding sessions, callanjfox/kv-cache-tester @ 94f6046 (Apache-2.0)",
} as const;

export const CODING_PRESETS: readonly Preset[] = [
  {
    ...claude,
    name: "claude-code",
    description:
      "one user turn of a coding agent at published lengths, sub-agents in one turn of twenty; needs a budget of hundreds of thousands",
    budgetTokens: 267_000,
    ratePerSecond: 0.004,
  },
  {
    ...claude,
    name: "claude-code-scaled",
    description: "the same with all lengths at 0.08, for a budget of 20k",
    budgetTokens: 20_000,
    tokenScale: 0.08,
    ratePerSecond: 0.05,
  },
  {
    name: "swe-agent",
    family: "coding",
    description: "one agent, 5 to 14 steps, long prompts and short commands, quick tools",
    source: "SWE-agent/SWE-agent: 10.6k tokens sent and 65-114 received a call, tools of 0.1-0.6 s",
    agents: agents({ SWE: 1_220 }),
    budgetTokens: 32_000,
    shape: [
      stage("solve", "SWE", [], {
        prompt: lognormal(2_000, 0.5, 400, 8_000),
        output: uniform(50, 130),
        rounds: {
          count: { kind: "integer", low: 5, high: 14 },
          max: 14,
          waitSeconds: uniform(0.1, 0.6),
          observation: lognormal(700, 0.9, 20, 5_000),
        },
      }),
    ],
    revealsGraph: true,
    maxTokens: "typical",
    ratePerSecond: 0.026,
  },
  {
    name: "swe-agent-tools",
    family: "coding",
    description: "the same with tool waits as measured in containers",
    source: "SWE-agent/SWE-agent; waits: quantiles of yunwei37/agentcgroup @ 5af9e7b",
    agents: agents({ SWE: 1_220 }),
    budgetTokens: 32_000,
    shape: [
      stage("solve", "SWE", [], {
        prompt: lognormal(2_000, 0.5, 400, 8_000),
        output: uniform(50, 130),
        rounds: {
          count: { kind: "integer", low: 5, high: 14 },
          max: 14,
          waitSeconds: TOOL_WAITS.swe,
          observation: lognormal(700, 0.9, 20, 5_000),
        },
      }),
    ],
    revealsGraph: true,
    maxTokens: "typical",
    ratePerSecond: 0.024,
  },
];
