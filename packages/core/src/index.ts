export { toBlocks, usableBudgetTokens } from "./config.ts";
export type { CoreConfig, Speeds } from "./config.ts";
export { decide } from "./decide.ts";
export { createEstimator, meanEstimator } from "./estimate/estimator.ts";
export { ESTIMATOR_DEFAULTS } from "./estimate/options.ts";
export type { EstimatorOptions, RoundGain } from "./estimate/options.ts";
export { parseProfile, serialiseProfile } from "./estimate/persist.ts";
export type { ParsedProfile } from "./estimate/persist.ts";
export type { Estimator } from "./estimate/estimator.ts";
export type {
  AdmitAction,
  CoreEvent,
  Decision,
  EntryId,
  EvictAction,
  Graph,
  GraphLoop,
  GraphStage,
  LoadAction,
  PreemptAction,
  PreemptMode,
  ProgressDelta,
  RequestSpec,
  TaskHints,
  TaskSpec,
  Terms,
  WaitReason,
  Why,
} from "./events.ts";
export { explainWaiting, overRetracted, queueHistory } from "./explain.ts";
export type { QueueHistory, WaitExplanation } from "./explain.ts";
export { WHY_LIMIT } from "./explain-plan.ts";
export { feasible } from "./feasible.ts";
export type { CallSize, Feasibility } from "./feasible.ts";
export { frameKey } from "./frame-key.ts";
export { compileGraph } from "./graph/compile.ts";
export type { CompiledGraph, GraphNode } from "./graph/compile.ts";
export { taskPath } from "./graph/path.ts";
export type { TaskPath } from "./graph/path.ts";
export { validateGraph } from "./graph/validate.ts";
export type { GraphCheck, GraphProblem } from "./graph/validate.ts";
export { checkInvariants } from "./invariants.ts";
export { createPolicy, describePolicy, policyIds } from "./policy/registry.ts";
export type { PolicyChanges, PolicyInfo } from "./policy/registry.ts";
export type { AllOptions, BaselineOptions, Truth } from "./policy/baseline-options.ts";
export type { Policy, PolicyOptions } from "./policy/policy.ts";
export { overflowVictims } from "./preempt/overflow.ts";
export { entrySnapshots, ledgerSnapshot, requestSnapshots } from "./snapshot.ts";
export type { EntrySnapshot, LedgerSnapshot, RequestSnapshot } from "./snapshot.ts";
export { createState } from "./state.ts";
export type { EntryState, RequestState, State, TaskState } from "./state.ts";
export { isDeciding, step } from "./step.ts";
