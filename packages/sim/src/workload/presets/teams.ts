import { fixed, lognormal, spread, uniform } from "../distribution.ts";
import { geometric, pick } from "../random.ts";
import type { Preset, RoundPlan, ShapeInput, StagePlan, TaskPlan } from "../preset.ts";
import { TOOL_WAITS } from "../tool-waits.ts";
import { agents, chain, stage, type Lengths } from "./shapes.ts";

const base = { budgetTokens: 20_000, maxTokens: 1_024 } as const;
const tools = (mean: number, max: number): RoundPlan => ({
  count: { kind: "geometric", mean, max },
  max,
  waitSeconds: TOOL_WAITS.mixed,
  observation: lognormal(180, 0.8, 10, 1_500),
});
const talk = spread(220, 0.6, 20);

type Step = readonly [agent: string, lengths: Lengths];

/** A hub that calls one specialist after the other, each drawn with these weights; it decides when to stop. */
function hub(
  rng: ShapeInput["rng"],
  lead: string,
  leadLengths: Lengths,
  specialists: readonly (readonly [string, number, Lengths])[],
  visits: number,
): Step[] {
  const weights = specialists.map(([, weight]) => weight);
  const steps: Step[] = [[lead, leadLengths]];
  for (let i = 0; i < visits; i++) {
    const [name, , lengths] = specialists[pick(rng, weights)]!;
    steps.push([name, lengths], [lead, leadLengths]);
  }
  return steps;
}

/** Phases of OpenBMB/ChatDev v1: each a talk of two, the loops with their published limits. */
function chatdev({ rng }: ShapeInput): TaskPlan {
  const line: Lengths = { prompt: fixed(450), output: talk, carry: "predecessors" };
  const code: Lengths = { prompt: fixed(600), output: spread(650, 0.5, 60), carry: "predecessors" };
  const times = (max: number, mean: number): number => Math.min(max, geometric(rng, mean));
  const steps: Step[] = [
    ["CPO", line],
    ["CEO", line],
    ["CTO", line],
    ["Programmer", code],
  ];
  for (let i = times(5, 2); i > 0; i--) steps.push(["Programmer", code]);
  for (let i = times(10, 3); i > 0; i--) steps.push(["Reviewer", line], ["Programmer", code]);
  for (let i = times(3, 1.5); i > 0; i--) steps.push(["Tester", line], ["Programmer", code]);
  steps.push(["CTO", line], ["Counselor", line]);
  return { stages: chain(steps) };
}

/** One selector call a turn over roles and the whole history, a few tokens of answer: a prefill-heavy hub. */
function autogenSelector({ rng }: ShapeInput): TaskPlan {
  const turns = 3 + geometric(rng, 5);
  const stages: StagePlan[] = [];
  const names = ["Planner", "Searcher", "Analyst", "Writer"];
  let before: readonly string[] = [];
  for (let turn = 1; turn <= Math.min(16, turns); turn++) {
    const name = names[pick(rng, [0.35, 0.25, 0.25, 0.15])]!;
    stages.push(stage(`select${turn}`, "Selector", before, { prompt: 400, output: uniform(1, 10), carry: "history" }));
    stages.push(stage(`turn${turn}`, name, [`select${turn}`], { prompt: 400, output: talk, carry: "history" }));
    before = [`turn${turn}`];
  }
  return { stages };
}

const autogenRoundRobin = (): StagePlan[] => {
  const names = ["Primary", "Critic", "Editor"];
  return Array.from({ length: 9 }, (_, i) =>
    stage(`turn${i + 1}`, names[i % 3]!, i === 0 ? [] : [`turn${i}`], { prompt: 350, output: talk, carry: "history" }),
  );
};

/** Two planning calls, then a progress ledger before every step; after three stalls the plan is made anew. */
function magenticOne({ rng }: ShapeInput): TaskPlan {
  const lead = (output: number): Lengths => ({ prompt: fixed(500), output: spread(output, 0.4, 20), carry: "history" });
  const steps: Step[] = [
    ["Orchestrator", lead(300)],
    ["Orchestrator", lead(250)],
  ];
  const workers = ["WebSurfer", "FileSurfer", "Coder", "Terminal"];
  let stalls = 0;
  for (let i = Math.min(20, 3 + geometric(rng, 6)); i > 0; i--) {
    steps.push(["Orchestrator", lead(180)]);
    if (rng.float() < 0.2 && ++stalls === 3) steps.push(["Orchestrator", lead(300)], ["Orchestrator", lead(250)]);
    steps.push([workers[pick(rng, [0.4, 0.2, 0.25, 0.15])]!, { prompt: fixed(400), output: talk, carry: "history" }]);
  }
  steps.push(["Orchestrator", lead(350)]);
  return { stages: chain(steps) };
}

const react: Lengths = { prompt: fixed(350), output: spread(200, 0.6, 20), carry: "predecessors", rounds: tools(3, 25) };
const worker: Lengths = { prompt: fixed(300), output: spread(240, 0.6, 20), rounds: tools(2.5, 12) };
const boss: Lengths = { prompt: fixed(300), output: spread(90, 0.5, 10), carry: "own" };

export const TEAM_PRESETS: readonly Preset[] = [
  {
    ...base,
    name: "supervisor-specialist",
    family: "supervisor",
    description: "recurrent supervisor; three to eight visits to four specialists, chosen step by step",
    source: "ours",
    agents: agents({ Supervisor: 3_600, Research: 2_700, Code: 2_300, Review: 1_800, Plan: 1_300 }),
    shape: ({ rng }) => ({
      stages: chain(
        hub(
          rng,
          "Supervisor",
          boss,
          [
            ["Research", 0.35, worker],
            ["Code", 0.35, worker],
            ["Review", 0.2, worker],
            ["Plan", 0.1, worker],
          ],
          3 + rng.int(6),
        ),
      ),
    }),
    revealsGraph: false,
    ratePerSecond: 0.023,
  },
  {
    ...base,
    name: "chatdev",
    family: "groupChat",
    description: "eight short roles in phases of two that talk; loops for completion, review and test",
    source: "OpenBMB/ChatDev v1 phase and chain configuration: roles, loop limits; sizes ours",
    agents: agents({ CEO: 220, CPO: 260, CTO: 300, Programmer: 640, Reviewer: 420, Tester: 380, Counselor: 240, CCO: 230 }),
    shape: chatdev,
    revealsGraph: false,
    ratePerSecond: 0.023,
  },
  {
    ...base,
    name: "autogen-selector",
    family: "groupChat",
    description: "group chat with a selector call before every turn over the whole history",
    source: "microsoft/autogen SelectorGroupChat; sizes ours",
    agents: agents({ Selector: 600, Planner: 1_200, Searcher: 900, Analyst: 1_100, Writer: 800 }),
    shape: autogenSelector,
    revealsGraph: false,
    ratePerSecond: 0.048,
  },
  {
    ...base,
    name: "autogen-roundrobin",
    family: "groupChat",
    description:
      "fixed turn order over one growing history; prompts of the roles differ first, so the history is no common prefix",
    source: "microsoft/autogen RoundRobinGroupChat; sizes ours",
    agents: agents({ Primary: 900, Critic: 1_100, Editor: 700 }),
    shape: autogenRoundRobin(),
    revealsGraph: true,
    ratePerSecond: 0.06,
  },
  {
    ...base,
    name: "magentic-one",
    family: "supervisor",
    description: "orchestrator re-sends the transcript for a progress ledger at every step, plans again after three stalls",
    source: "microsoft/autogen MagenticOneGroupChat: call counts and limits; sizes ours",
    agents: agents({ Orchestrator: 1_400, WebSurfer: 1_000, FileSurfer: 700, Coder: 900, Terminal: 300 }),
    shape: magenticOne,
    revealsGraph: false,
    ratePerSecond: 0.011,
  },
  {
    ...base,
    name: "crewai-sequential",
    family: "pipeline",
    description: "one ReAct agent a task of the crew, outputs handed on",
    source: "crewAIInc/crewAI sequential process: at most 25 iterations; sizes ours",
    agents: agents({ Researcher: 900, Analyst: 750, Writer: 600, Editor: 500 }),
    shape: chain([
      ["Researcher", react],
      ["Analyst", react],
      ["Writer", react],
      ["Editor", { ...react, rounds: tools(1.5, 25) }],
    ]),
    revealsGraph: true,
    ratePerSecond: 0.05,
  },
  {
    ...base,
    name: "crewai-hierarchical",
    family: "supervisor",
    description: "manager with delegate and ask tools; a coworker sees only its brief",
    source: "crewAIInc/crewAI hierarchical process; sizes ours",
    agents: agents({ Manager: 1_600, Researcher: 900, Analyst: 750, Writer: 600 }),
    shape: ({ rng }) => ({
      stages: chain(
        hub(
          rng,
          "Manager",
          { ...boss, output: spread(160, 0.5, 20) },
          [
            ["Researcher", 0.4, worker],
            ["Analyst", 0.35, worker],
            ["Writer", 0.25, worker],
          ],
          2 + rng.int(4),
        ),
      ),
    }),
    revealsGraph: false,
    ratePerSecond: 0.04,
  },
  {
    ...base,
    name: "langgraph-supervisor",
    family: "supervisor",
    description: "hub and workers; only the last message of a worker returns, so the hub's prefix stays warm",
    source: "langchain-ai/langgraph-supervisor-py; sizes ours",
    agents: agents({ Supervisor: 1_800, Research: 2_200, Math: 900, Report: 1_200 }),
    shape: ({ rng }) => ({
      stages: chain(
        hub(
          rng,
          "Supervisor",
          { ...boss, output: uniform(15, 60) },
          [
            ["Research", 0.5, worker],
            ["Math", 0.25, worker],
            ["Report", 0.25, worker],
          ],
          2 + rng.int(5),
        ),
      ),
    }),
    revealsGraph: false,
    ratePerSecond: 0.04,
  },
];
