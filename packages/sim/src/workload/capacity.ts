import type { SimAgent, SimTask } from "../task.ts";

/** One call as a service-time estimate sees it. */
export interface CallShape {
  readonly agent: string;
  readonly prefixTokens: number;
  /** Context of earlier rounds of the stage. */
  readonly historyTokens: number;
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/** Engine seconds a call uses up, batching counted in: the reciprocal of its throughput, not its latency. */
export type CallSeconds = (call: CallShape) => number;

interface Parts {
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
}

export function* callsOf({ agents, tasks }: Parts): Generator<CallShape> {
  const prefixes = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  for (const task of tasks) {
    for (const { agent, rounds } of task.stages) {
      let historyTokens = 0;
      for (const { promptTokens, outputTokens } of rounds) {
        yield { agent, prefixTokens: prefixes.get(agent) ?? 0, historyTokens, promptTokens, outputTokens };
        historyTokens += promptTokens + outputTokens;
      }
    }
  }
}

/** Tasks a second one engine sustains: tasks over the engine seconds of all their calls. */
export function capacityPerSecond(parts: Parts, callSeconds: CallSeconds): number {
  let seconds = 0;
  for (const call of callsOf(parts)) seconds += callSeconds(call);
  return parts.tasks.length / seconds;
}

export function rateForLoad(parts: Parts, loadFraction: number, callSeconds: CallSeconds): number {
  return loadFraction * capacityPerSecond(parts, callSeconds);
}

export interface DecodeBound {
  readonly budgetTokens: number;
  /** Prefixes resident at a time. */
  readonly residentPrefixes: number;
  /** Seconds of a decode step of this batch, each sequence reading this context. */
  readonly stepSeconds: (batch: number, contextTokens: number) => number;
  readonly prefillTokensPerSecond: number;
}

/**
 * The bound of a full batch with every prefix found: b = floor((B - resident prefixes) / (prompt + output)) sequences share a
 * step; new tokens cost their prefill.
 */
export function decodeBound({ budgetTokens, residentPrefixes, stepSeconds, prefillTokensPerSecond }: DecodeBound): CallSeconds {
  return ({ prefixTokens, historyTokens, promptTokens, outputTokens }) => {
    const own = historyTokens + promptTokens + outputTokens;
    const batch = Math.max(1, Math.floor((budgetTokens - residentPrefixes * prefixTokens) / own));
    const contextTokens = prefixTokens + historyTokens + promptTokens + outputTokens / 2;
    return (outputTokens * stepSeconds(batch, contextTokens)) / batch + promptTokens / prefillTokensPerSecond;
  };
}
