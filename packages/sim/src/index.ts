export { createRng } from "./rng.ts";
export type { Rng } from "./rng.ts";
export { mean, pairedBootstrap, quantile, standardDeviation, weightedMean, weightedQuantile } from "./stats.ts";
export type { Interval } from "./stats.ts";
export { predecessors } from "./task.ts";
export type { SimAgent, SimRound, SimStage, SimTask } from "./task.ts";
export { parseProfile } from "./model/profile.ts";
export type {
  CpuStep,
  GpuStep,
  LayerFit,
  Profile,
  ProfileLimits,
  ProfileSource,
  ProfileTransfer,
  Roofline,
  Table,
} from "./model/profile.ts";
export { decodeSeconds, prefillSeconds, stepTimer } from "./model/step-time.ts";
export type { StepLoad, StepTimer } from "./model/step-time.ts";
export { referenceSpeeds } from "./model/speeds.ts";
export type { HostTier } from "./model/transfer.ts";
export type { RulesOptions } from "./engine/build.ts";
export type { Recorder, RecorderOptions, StepRow } from "./engine/recorder.ts";
export type { TaskRecord } from "./engine/task-runner.ts";
export type { RulesId, SglangRules, StockRulesId, VllmRules } from "./rules/rules.ts";
export { budgetOf, simulate } from "./simulate.ts";
export type { CallResult, SimConfig, SimResult } from "./simulate.ts";
export type { DrawnLengths, Facts, FixedLengths, ServingMetric, ServingPoint, ValidationRow } from "./validate/facts.ts";
export { servingRows } from "./validate/serving.ts";
export { closedFormRows, validate } from "./validate/validate.ts";
export type { ValidationInput } from "./validate/validate.ts";
export { toy } from "./presets/toy.ts";
export type { ToyInterval, ToyRow } from "./presets/toy.ts";
export { table1 } from "./presets/table1.ts";
export type { Table1Row, Table1Run } from "./presets/table1.ts";
