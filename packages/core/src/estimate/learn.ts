import { frameKey } from "../frame-key.ts";
import { generatedTokens, type RequestState, type StageState, type State, type TaskState } from "../state.ts";
import { callSeconds } from "./area.ts";
import { blendedMean } from "./blend.ts";
import { DEFAULT_SPREAD, difficultyFactor, emptyDifficulty, observeDifficulty, spreadOf } from "./difficulty.ts";
import { observeCall, observeRounds, observeStage, observeWait, PRIOR, settleFactor } from "./profile.ts";
import { computedPrompt } from "./stage-lengths.ts";
import { countAt, observeMove, observePhase, workflowFor } from "./workflow.ts";

/** A call arrived: the wait since the stage's last one, the step from the agent before, the leader's visits (2.2, 2.8). */
export function learnReady(state: State, task: TaskState, stage: StageState): void {
  const last = task.lastStage === null ? undefined : task.stages.get(task.lastStage);
  if (last === stage && stage.roundEndSeconds !== null && task.live === 0)
    observeWait(state.profile, task.tenant, stage.agent, state.nowSeconds - stage.roundEndSeconds);
  if (last !== undefined && last !== stage)
    observeMove(workflowFor(state.profile, task.tenant, task.workflow), last.agent, stage.agent);
  task.lastStage = stage.id;
  if (task.graph !== null) return;
  const { lead } = task;
  if (lead === null) task.lead = { agent: stage.agent, visits: 1, phaseSeconds: 0, groupSeconds: 0 };
  else if (lead.agent === stage.agent) {
    lead.visits += 1;
    const phase = lead.phaseSeconds + lead.groupSeconds;
    if (phase > 0) observePhase(workflowFor(state.profile, task.tenant, task.workflow), phase);
    lead.phaseSeconds = lead.groupSeconds = 0;
  }
}

/** A call finished: its lengths, its part in the visit's sums, and how it compares with its profile (2.2, 2.6). */
export function learnCall(state: State, task: TaskState, stage: StageState, request: RequestState): void {
  const q = computedPrompt(request);
  const o = generatedTokens(request);
  const expected = blendedMean(
    state.profile,
    stage.keys,
    (s) => s.calls,
    (s) => s.outputTokens,
    PRIOR.outputTokens,
    null,
  );
  if (o > 0 && expected > 0) {
    const ratio = Math.log(o / expected);
    task.outcome.calls += 1;
    task.outcome.logSum += ratio;
    task.outcome.logSquares += ratio * ratio;
  }
  observeCall(state.profile, stage.keys, q, o);
  const sums = (stage.sums ??= [0, 0, 0, 0, 0]);
  sums[0]! += q;
  sums[1]! += o;
  sums[2]! += q * o;
  sums[3]! += o * o;
  sums[4]! += q * q;
  stage.visits += 1;
  stage.roundEndSeconds = state.nowSeconds;
  const { lead } = task;
  if (lead === null || task.graph !== null || lead.agent === stage.agent) return;
  lead.groupSeconds = Math.max(lead.groupSeconds, callSeconds(state.config.speeds, q, o));
  if (task.live > 0) return;
  lead.phaseSeconds += lead.groupSeconds;
  lead.groupSeconds = 0;
}

/** The visit of a stage is over; without a single finished call there is nothing to learn. */
export function learnStage(state: State, task: TaskState, stage: StageState): void {
  if (stage.sums === null || stage.rounds === 0) return;
  const record = [...stage.sums, stage.rounds, factorOf(state, task)];
  stage.marks = observeStage(state.profile, stage.keys, record, stage.attainedSeconds);
  if (stage.declared.rounds !== null) observeRounds(state.profile, stage.keys, stage.rounds);
}

/** The task is over: its final factor goes beside what it taught, and its counts into its workflow's histograms. */
export function learnTask(state: State, task: TaskState): void {
  const { profile } = state;
  const factor = factorOf(state, task);
  for (const stage of task.stages.values()) {
    if (stage.marks !== null) settleFactor(profile, stage.keys, stage.marks, factor);
    if (stage.virtual && stage.visits > 0) observeRounds(profile, stage.keys, stage.visits);
  }
  const key = frameKey(task.tenant);
  const sums = profile.difficulty.get(key) ?? emptyDifficulty();
  profile.difficulty.set(key, sums);
  observeDifficulty(sums, task.outcome.calls, task.outcome.logSum, task.outcome.logSquares);
  const workflow = workflowFor(profile, task.tenant, task.workflow);
  workflow.tasks += 1;
  countAt(workflow.calls, task.callsStarted);
  if (task.lead !== null) countAt(workflow.leads, task.lead.visits);
}

function factorOf(state: State, task: TaskState): number {
  const spread = spreadOf(state.profile.difficulty.get(frameKey(task.tenant))) ?? DEFAULT_SPREAD;
  return difficultyFactor(task.outcome.calls, task.outcome.logSum, spread);
}
