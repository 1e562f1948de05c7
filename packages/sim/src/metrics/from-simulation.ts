import type { CallResult, OpenCall, SimResult } from "../simulate.ts";
import type { SimAgent, SimTask } from "../task.ts";
import type { RequestLog, RunLog, StepLog, TaskLog } from "./run-log.ts";

export interface SimulationFacts {
  readonly agents: readonly SimAgent[];
  readonly powerWatts?: { readonly prefill: number; readonly decode: number; readonly idle: number };
  readonly moveSeconds?: number;
  readonly contendedDecisions?: number;
  /** Seconds a task takes alone (`aloneSeconds`); without it no slowdown. */
  readonly aloneSeconds?: (task: SimTask) => number;
  readonly sloSeconds?: (task: SimTask) => number;
}

/** A simulated run as a log. Steps need `record.log: "full"`, gaps `record.gaps: true`. */
export function runLogOf(result: SimResult, facts: SimulationFacts): RunLog {
  const prefixes = new Map(facts.agents.map((agent) => [agent.name, agent.prefixTokens]));
  const { recorder, budgetTokens } = result;
  const steps = recorder.rows.map(({ freeTokens, ...row }): StepLog => {
    const { atSeconds, seconds, decodes, prefillTokens, chunks, pinnedTokens, pinnedPrefixes } = row;
    const heldTokens = Math.max(0, budgetTokens - freeTokens);
    return { atSeconds, seconds, decodes, prefillTokens, chunks, heldTokens, pinnedTokens, pinnedPrefixes };
  });
  const contended = facts.contendedDecisions ?? result.contendedDecisions;
  return {
    tasks: [
      ...result.tasks.map(({ task, doneSeconds }) => taskLog(task, doneSeconds, facts)),
      ...result.openTasks.map((task) => taskLog(task, null, facts)),
    ],
    requests: [
      ...result.calls.map((call) => doneLog(call, prefixes)),
      ...result.openCalls.map((call) => openLog(call, prefixes)),
    ],
    ...(steps.length === 0 ? {} : { steps }),
    ...(recorder.gapSeconds.length === 0 ? {} : { gaps: { seconds: recorder.gapSeconds, counts: recorder.gapCounts } }),
    ...(result.policy === null
      ? {}
      : {
          decisions: {
            count: result.decisions,
            ...(contended === null ? {} : { contended }),
          },
        }),
    engine: {
      budgetTokens,
      devices: 1,
      movedBytes: result.movedBytes,
      moveSeconds: facts.moveSeconds ?? result.moveSeconds,
      ...(facts.powerWatts === undefined ? {} : { powerWatts: facts.powerWatts }),
    },
    endSeconds: result.endSeconds,
  };
}

function taskLog(task: SimTask, finishSeconds: number | null, facts: SimulationFacts): TaskLog {
  return {
    id: task.id,
    ...(task.tenant === undefined ? {} : { tenant: task.tenant }),
    arrivalSeconds: task.arrivalSeconds,
    finishSeconds,
    outcome: finishSeconds === null ? "open" : "done",
    ...(facts.aloneSeconds === undefined ? {} : { aloneSeconds: facts.aloneSeconds(task) }),
    ...(facts.sloSeconds === undefined ? {} : { sloSeconds: facts.sloSeconds(task) }),
  };
}

type Prefixes = ReadonlyMap<string, number>;

function doneLog({ finishedSeconds, agent, ...call }: CallResult, prefixes: Prefixes): RequestLog {
  return { ...call, prefixTokens: prefixes.get(agent) ?? 0, finishSeconds: finishedSeconds, outcome: "done" };
}

function openLog({ agent, ...call }: OpenCall, prefixes: Prefixes): RequestLog {
  return { ...call, prefixTokens: prefixes.get(agent) ?? 0, finishSeconds: null, outputTokens: 0, outcome: "open" };
}
