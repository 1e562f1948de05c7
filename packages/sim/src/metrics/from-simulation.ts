import type { SimResult } from "../simulate.ts";
import type { SimAgent, SimTask } from "../task.ts";
import type { RunLog, StepLog } from "./run-log.ts";

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
  const steps = recorder.rows.map(({ atSeconds, seconds, decodes, prefillTokens, chunks, freeTokens }): StepLog => {
    return { atSeconds, seconds, decodes, prefillTokens, chunks, heldTokens: Math.max(0, budgetTokens - freeTokens) };
  });
  return {
    tasks: result.tasks.map(({ task, arrivalSeconds, doneSeconds }) => ({
      id: task.id,
      ...(task.tenant === undefined ? {} : { tenant: task.tenant }),
      arrivalSeconds,
      finishSeconds: doneSeconds,
      outcome: "done",
      ...(facts.aloneSeconds === undefined ? {} : { aloneSeconds: facts.aloneSeconds(task) }),
      ...(facts.sloSeconds === undefined ? {} : { sloSeconds: facts.sloSeconds(task) }),
    })),
    requests: result.calls.map((call) => ({
      id: call.id,
      task: call.task,
      readySeconds: call.readySeconds,
      admittedSeconds: call.admittedSeconds,
      firstTokenSeconds: call.firstTokenSeconds,
      finishSeconds: call.finishedSeconds,
      outcome: "done",
      prefixTokens: prefixes.get(call.agent) ?? 0,
      promptTokens: call.promptTokens,
      cachedTokens: call.cachedTokens,
      outputTokens: call.outputTokens,
      preemptions: call.preemptions,
      redoneTokens: call.redoneTokens,
    })),
    ...(steps.length === 0 ? {} : { steps }),
    ...(recorder.gapSeconds.length === 0 ? {} : { gaps: { seconds: recorder.gapSeconds, counts: recorder.gapCounts } }),
    ...(result.policy === null
      ? {}
      : {
          decisions: {
            count: result.decisions,
            ...(facts.contendedDecisions === undefined ? {} : { contended: facts.contendedDecisions }),
          },
        }),
    engine: {
      budgetTokens,
      devices: 1,
      movedBytes: result.movedBytes,
      ...(facts.moveSeconds === undefined ? {} : { moveSeconds: facts.moveSeconds }),
      ...(facts.powerWatts === undefined ? {} : { powerWatts: facts.powerWatts }),
    },
    endSeconds: result.endSeconds,
  };
}
