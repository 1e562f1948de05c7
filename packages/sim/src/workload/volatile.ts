import type { SimAgent, SimRound, SimStage, SimTask } from "../task.ts";

/**
 * Something in a static prefix that changes with time: MetaGPT's RoleZero writes the current second into the first lines of its
 * system prompt (metagpt/prompts/di/role_zero.py). What follows the span shares nothing with an earlier call.
 */
export interface VolatileSpan {
  /** From the start of the prefix; "tail": at its end. */
  readonly offsetTokens: number | "tail";
  readonly lengthTokens: number;
  readonly periodSeconds: number;
}

export const VOLATILE_SPANS = {
  none: null,
  seconds: { offsetTokens: 50, lengthTokens: 12, periodSeconds: 1 },
  minutes: { offsetTokens: 50, lengthTokens: 12, periodSeconds: 60 },
  tail: { offsetTokens: "tail", lengthTokens: 12, periodSeconds: 1 },
} as const satisfies Record<string, VolatileSpan | null>;

export type VolatileName = keyof typeof VOLATILE_SPANS;

interface Parts {
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
}

/**
 * The same workload as an engine's cache sees it. A period of a few seconds is shorter than any call: only what lies before the
 * span is shared, and a later round finds nothing of its own history (it becomes a stage with the whole prompt). A longer
 * period makes one prefix of each agent and period; a task stays in the period in which it arrived.
 */
export function withVolatileSpan({ agents, tasks }: Parts, span: VolatileSpan): Parts {
  return span.periodSeconds <= 5 ? brokenPerCall(agents, tasks, span) : renamedPerPeriod(agents, tasks, span.periodSeconds);
}

function brokenPerCall(agents: readonly SimAgent[], tasks: readonly SimTask[], span: VolatileSpan): Parts {
  const shared = (agent: SimAgent): number => {
    const offset = span.offsetTokens === "tail" ? agent.prefixTokens - span.lengthTokens : span.offsetTokens;
    return Math.max(0, Math.min(agent.prefixTokens, offset));
  };
  const lost = new Map(agents.map((agent) => [agent.name, agent.prefixTokens - shared(agent)]));
  return {
    agents: agents.map((agent) => ({ ...agent, prefixTokens: shared(agent) })),
    tasks: tasks.map((task) => splitRounds(task, (agent) => lost.get(agent) ?? 0)),
  };
}

function splitRounds(task: SimTask, lostTokens: (agent: string) => number): SimTask {
  const last = (stage: SimStage): string => (stage.rounds.length === 1 ? stage.id : `${stage.id}~${stage.rounds.length}`);
  const lastOf = new Map(task.stages.map((stage) => [stage.id, last(stage)]));
  const stages = task.stages.flatMap((stage) => {
    let history = lostTokens(stage.agent);
    return stage.rounds.map((round, i): SimStage => {
      const promptTokens = history + round.promptTokens;
      history = promptTokens + round.outputTokens;
      const single: SimRound = { ...round, promptTokens };
      const id = i === 0 ? stage.id : `${stage.id}~${i + 1}`;
      const before = i === 0 ? (stage.after ?? []).map((other) => lastOf.get(other)!) : [i === 1 ? stage.id : `${stage.id}~${i}`];
      return { id, agent: stage.agent, rounds: [single], after: before };
    });
  });
  return { ...task, stages, graph: stages.length === task.stages.length ? task.graph : null };
}

function renamedPerPeriod(agents: readonly SimAgent[], tasks: readonly SimTask[], periodSeconds: number): Parts {
  const prefixTokens = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  const used = new Map<string, SimAgent>();
  const renamed = tasks.map((task) => {
    const period = Math.floor(task.arrivalSeconds / periodSeconds);
    const rename = (agent: string): string => `${agent}#${period}`;
    for (const { agent } of task.stages)
      used.set(rename(agent), { name: rename(agent), prefixTokens: prefixTokens.get(agent) ?? 0 });
    const stages = task.stages.map((stage) => ({ ...stage, agent: rename(stage.agent) }));
    const graph = task.graph && {
      ...task.graph,
      stages: task.graph.stages.map((stage) => ({ ...stage, agent: rename(stage.agent) })),
    };
    return { ...task, stages, graph };
  });
  return { agents: [...used.values()], tasks: renamed };
}
