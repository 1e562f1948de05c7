import { fixed, lognormal, spread, uniform, type Distribution } from "../distribution.ts";
import { geometric, pick } from "../random.ts";
import type { Preset, RoundPlan, ShapeInput, StagePlan, TaskPlan } from "../preset.ts";
import type { SimAgent } from "../../task.ts";
import { agents, chain, stage } from "./shapes.ts";

const source = "FoundationAgents/MetaGPT @ 1dfce07: roles, actions, prompt templates; sizes from tests/data/rsp_cache.json";
const base = { source, budgetTokens: 20_000 } as const;
/** Median and p99 of the cached pairs, as lognormals. */
const sized = (median: number, max: number, least = 8): Distribution =>
  lognormal(median, Math.log(max / median) / 2.33, least, 1.2 * max);

/** Per file: write, review, and rewrite unless accepted, up to two rounds. Roles are tiny; what repeats is template and documents. */
function sopAsShipped({ rng }: ShapeInput): TaskPlan {
  const files = 3 + rng.int(4);
  const documentTokens = 800 + rng.int(1_700);
  const own: SimAgent[] = [
    { name: "WriteCode@", prefixTokens: 75 + 413 + documentTokens },
    { name: "CodeReview@", prefixTokens: 75 + 780 + documentTokens },
  ];
  const stages: StagePlan[] = [
    stage("prd", "PM", [], { prompt: sized(853, 2_300), output: sized(172, 1_200) }),
    stage("design", "Arch", ["prd"], { prompt: sized(1_500, 1_700), output: sized(489, 683) }),
    stage("tasks", "PjM", ["design"], { prompt: sized(766, 1_600), output: sized(172, 4_600) }),
  ];
  let before = "tasks";
  const next = (id: string, agent: string, prompt: Distribution, output: Distribution): void => {
    stages.push(stage(id, agent, [before], { prompt, output }));
    before = id;
  };
  for (let file = 1; file <= files; file++) {
    next(`write${file}`, "WriteCode@", sized(300, 1_200), sized(209, 1_600));
    const reviews = rng.float() < 0.5 ? 1 : 2;
    for (let round = 1; round <= reviews; round++) {
      next(`review${file}.${round}`, "CodeReview@", sized(400, 1_800), sized(192, 750));
      if (round < reviews || rng.float() < 0.3) next(`rewrite${file}.${round}`, "WriteCode@", sized(500, 1_300), sized(222, 726));
    }
  }
  return { stages, agents: own };
}

const think = spread(260, 0.5, 60);
const code = spread(800, 0.4, 300);
const editor = uniform(0.02, 5);
const wake = (mean: number, max: number, waitSeconds: Distribution = editor): RoundPlan => ({
  count: { kind: "geometric", mean, max },
  max,
  waitSeconds,
  observation: uniform(60, 900),
});

const sopLong = chain([
  ["PM", { prompt: 500, output: spread(600, 0.4, 60), carry: "predecessors" }],
  ["Arch", { prompt: 300, output: spread(489, 0.4, 60), carry: "predecessors" }],
  ["PjM", { prompt: 300, output: spread(300, 0.5, 60), carry: "predecessors" }],
  [
    "Eng",
    {
      prompt: 600,
      output: code,
      carry: "predecessors",
      rounds: { ...wake(4.5, 6), count: { kind: "integer", low: 3, high: 6 } },
    },
  ],
  ["QA", { prompt: 400, output: think, carry: "predecessors" }],
]);

/** Prefix sizes as shipped (system prompt with role information, commands, example, instruction). */
const team = agents({ TL: 3_900, PM: 5_200, Arch: 1_900, PjM: 1_300, Eng: 9_600 });
const visit = { prompt: 300, output: spread(160, 0.5, 40), carry: "own" } as const;
const role = (rounds: RoundPlan, output: Distribution) => ({ prompt: fixed(250), output, carry: "own", rounds }) as const;
const leader = (mean: number) => ({ ...visit, rounds: wake(mean, 3, uniform(0.02, 1)) });

const tl9 = chain(
  ["TL", "PM", "TL", "Arch", "TL", "PjM", "TL", "Eng", "TL"].map(
    (name) => [name, name === "Eng" ? { ...visit, output: code } : visit] as const,
  ),
);
const tlFull = chain([
  ["TL", leader(1.5)],
  [
    "PM",
    role(
      wake(6, 50, {
        kind: "mixture",
        parts: [
          [0.7, editor],
          [0.3, uniform(5, 20)],
        ],
      }),
      think,
    ),
  ],
  ["TL", leader(1.5)],
  ["Arch", role(wake(5, 50), think)],
  ["TL", leader(1.5)],
  ["PjM", role({ ...wake(1.5, 2), count: { kind: "integer", low: 1, high: 2 } }, think)],
  ["TL", leader(1.5)],
  ["Eng", role(wake(14, 40), spread(420, 0.8, 120))],
  ["TL", leader(1.5)],
]);

/** The leader sends a small job straight to the engineer, and sometimes asks the analyst first: not known at arrival. */
function tlSmall({ rng }: ShapeInput): TaskPlan {
  const steps: (readonly [string, Parameters<typeof stage>[3]])[] = [["TL", leader(1.5)]];
  if (pick(rng, [0.7, 0.3]) === 1) steps.push(["DA", role(wake(5, 50), think)], ["TL", leader(1.5)]);
  const visits = Math.min(3, geometric(rng, 1.3));
  for (let i = 0; i < visits; i++) steps.push(["Eng", role(wake(8, 40), spread(420, 0.8, 120))], ["TL", leader(1.5)]);
  return { stages: chain(steps) };
}

export const METAGPT_PRESETS: readonly Preset[] = [
  {
    ...base,
    name: "sop-as-shipped",
    family: "pipeline",
    description:
      "tiny role prompts, documents shared inside one task, three to six files with review: little for agent prefixes to gain",
    agents: agents({ PM: 67 + 590, Arch: 68 + 570, PjM: 59 + 335 }),
    shape: sopAsShipped,
    revealsGraph: false,
    maxTokens: "typical",
    ratePerSecond: 0.015,
  },
  {
    ...base,
    name: "sop-long",
    family: "pipeline",
    description: "the same five roles with long prompts; the engineer works in three to six rounds",
    source: `${source}; prefix sizes of its RoleZero team`,
    agents: agents({ PM: 5_200, Arch: 1_900, PjM: 1_300, Eng: 9_600, QA: 2_700 }),
    shape: sopLong,
    revealsGraph: true,
    maxTokens: 2_048,
    ratePerSecond: 0.01,
  },
  {
    ...base,
    name: "sop-5",
    family: "pipeline",
    description: "exactly five single-call stages, prefixes of 3.5k on average",
    agents: agents({ PM: 3_500, Arch: 3_500, PjM: 3_500, Eng: 3_500, QA: 3_500 }),
    shape: chain(
      ["PM", "Arch", "PjM", "Eng", "QA"].map((name) => [name, { prompt: 500, output: spread(300, 0.5, 40) }] as const),
    ),
    revealsGraph: true,
    maxTokens: 2_048,
    ratePerSecond: 0.1,
  },
  {
    ...base,
    name: "tl-9",
    family: "supervisor",
    description: "leader visited five times between four roles, one call each; memory of earlier visits re-sent",
    agents: team,
    shape: tl9,
    revealsGraph: true,
    maxTokens: 2_048,
    ratePerSecond: 0.035,
  },
  {
    ...base,
    budgetTokens: 32_000,
    name: "tl-full",
    family: "supervisor",
    description: "the same with the shipped number of rounds in each wake: 30 to 50 calls",
    agents: team,
    shape: tlFull,
    revealsGraph: false,
    maxTokens: 2_048,
    ratePerSecond: 0.0045,
  },
  {
    ...base,
    budgetTokens: 32_000,
    name: "tl-small",
    family: "supervisor",
    description: "small jobs: leader -> engineer -> leader, sometimes the analyst first",
    agents: agents({ TL: 3_900, Eng: 9_600, DA: 2_700 }),
    shape: tlSmall,
    revealsGraph: false,
    maxTokens: 2_048,
    ratePerSecond: 0.007,
  },
];
