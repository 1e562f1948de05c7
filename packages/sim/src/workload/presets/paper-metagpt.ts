import { spread, type Distribution } from "../distribution.ts";
import type { Preset, RoundPlan } from "../preset.ts";
import { agents, chain, varied, type Lengths } from "./shapes.ts";

const source = "shape and rate of arXiv 2608.25523 section on MetaGPT; every length is ours";
const base = { source, budgetTokens: 20_000, revealsGraph: true } as const;

const sop = chain(
  (
    [
      ["PM", 240],
      ["Arch", 360],
      ["PjM", 240],
      ["Eng", 420],
      ["QA", 240],
    ] as const
  ).map(([name, output]) => [name, { prompt: 500, output }] as const),
);
const sopAgents = agents({ PM: 3_000, Arch: 3_000, PjM: 3_000, Eng: 3_000, QA: 3_000 });

/** Leader before, between and after four roles: nine stages. */
const hub = (lengths: (agent: string) => Lengths) =>
  chain(["TL", "PM", "TL", "Arch", "TL", "PjM", "TL", "Eng", "TL"].map((name) => [name, lengths(name)] as const));
const tlOutput: Readonly<Record<string, number>> = { TL: 540, PM: 1_080, Arch: 1_080, PjM: 720, Eng: 1_440 };
const tl = hub((name) => ({ prompt: 800, output: tlOutput[name]! }));
const tlAgents = agents({ TL: 3_500, PM: 3_500, Arch: 3_500, PjM: 3_500, Eng: 3_500 });

const perCall: Readonly<Record<string, readonly [output: number, rounds: number]>> = {
  TL: [120, 1.5],
  PM: [240, 3],
  Arch: [240, 2],
  PjM: [160, 1.5],
  Eng: [320, 8],
};
const react = (mean: number): RoundPlan => ({
  count: { kind: "geometric", mean, max: 30 },
  max: 30,
  waitSeconds: spread(1, 1, 0),
  observation: spread(200, 0.6),
  contextLimitTokens: 4_000,
});
const q: Distribution = spread(800, 0.4, 32);
const tlFull = hub((name) => {
  const [output, rounds] = perCall[name]!;
  return { prompt: q, output: spread(output, 0.7, 8), rounds: react(rounds) };
});

export const PAPER_METAGPT_PRESETS: readonly Preset[] = [
  {
    ...base,
    name: "paper-sop",
    family: "pipeline",
    description: "PM -> Arch -> PjM -> Eng -> QA, fixed lengths",
    agents: sopAgents,
    shape: sop,
    maxTokens: "exact",
    ratePerSecond: 0.15,
    studyCapacityPerSecond: 0.19,
  },
  {
    ...base,
    name: "paper-sop-cv2",
    family: "pipeline",
    description: "the same with outputs of CV 0.2 and prompts of CV 0.4",
    agents: sopAgents,
    shape: varied(sop, { prompt: 0.4, output: 0.2 }),
    maxTokens: 2_048,
    ratePerSecond: 0.15,
  },
  {
    ...base,
    name: "paper-sop-cv7",
    family: "pipeline",
    description: "the same with outputs of CV 0.7 and hidden difficulty 0.3",
    agents: sopAgents,
    shape: varied(sop, { prompt: 0.4, output: 0.7 }),
    maxTokens: 2_048,
    difficultySigma: 0.3,
    ratePerSecond: 0.13,
  },
  {
    ...base,
    name: "paper-tl",
    family: "supervisor",
    description: "team leader between four roles, nine single-call stages, fixed lengths",
    agents: tlAgents,
    shape: tl,
    maxTokens: "exact",
    ratePerSecond: 0.0175,
    studyCapacityPerSecond: 0.0232,
  },
  {
    ...base,
    name: "paper-tl-cv2",
    family: "supervisor",
    description: "the same with outputs of CV 0.2 and prompts of CV 0.4",
    agents: tlAgents,
    shape: varied(tl, { prompt: 0.4, output: 0.2 }),
    maxTokens: 2_048,
    ratePerSecond: 0.0175,
  },
  {
    ...base,
    name: "paper-tl-full",
    family: "supervisor",
    description: "the same hub with ReAct rounds and the shipped prefix lengths",
    source: "shape and rate of arXiv 2608.25523; prefixes measured in FoundationAgents/MetaGPT @ 1dfce07; other lengths ours",
    agents: agents({ TL: 3_900, PM: 5_200, Arch: 1_900, PjM: 1_300, Eng: 9_600 }),
    shape: tlFull,
    maxTokens: 2_048,
    ratePerSecond: 0.0175,
    studyCapacityPerSecond: 0.0236,
  },
];
