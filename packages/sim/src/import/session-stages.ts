import type { SimRound, SimStage } from "../task.ts";

export interface SessionCall {
  /** Whole prompt, prefix included. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Between this call's end and the next one. */
  readonly waitAfterSeconds: number;
}

/**
 * Calls of one session as rounds of stages. A prompt that grows on the one before is the next round; one that is clearly shorter
 * (compaction, a fresh start) begins a stage of its own. Outputs that are not sent back (thinking) make the model's context up
 * to a tenth longer than the trace's before that counts as a break.
 */
export function sessionStages(
  calls: readonly SessionCall[],
  agent: string,
  prefixTokens: number,
  id: string,
  after: readonly string[],
): SimStage[] {
  const stages: SimStage[] = [];
  let rounds: SimRound[] = [];
  let context = prefixTokens;
  let before = after;
  const close = (): void => {
    if (rounds.length === 0) return;
    const name = stages.length === 0 ? id : `${id}~${stages.length + 1}`;
    stages.push({ id: name, agent, after: before, rounds });
    before = [name];
    rounds = [];
    context = prefixTokens;
  };
  for (const { inputTokens, outputTokens, waitAfterSeconds } of calls) {
    if (rounds.length > 0 && context > inputTokens * 1.1 + 64) close();
    const promptTokens = Math.max(1, inputTokens - context);
    const output = Math.max(1, outputTokens);
    rounds.push({ promptTokens, outputTokens: output, toolWaitSeconds: waitAfterSeconds });
    context += promptTokens + output;
  }
  close();
  return stages;
}
