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
export { budgetOf } from "./sim-config.ts";
export type { SimConfig } from "./sim-config.ts";
export { simulate } from "./simulate.ts";
export type { CallResult, OpenCall, SimResult } from "./simulate.ts";
export type { DrawnLengths, Facts, FixedLengths, ServingMetric, ServingPoint, ValidationRow } from "./validate/facts.ts";
export { servingRows } from "./validate/serving.ts";
export { closedFormRows, validate } from "./validate/validate.ts";
export type { ValidationInput } from "./validate/validate.ts";
export { toy } from "./presets/toy.ts";
export type { ToyInterval, ToyRow } from "./presets/toy.ts";
export { table1 } from "./presets/table1.ts";
export type { Table1Row, Table1Run } from "./presets/table1.ts";
export { ARRIVALS, arrivalSeconds } from "./workload/arrivals.ts";
export type { Arrival, ArrivalName } from "./workload/arrivals.ts";
export { callsOf, capacityPerSecond, decodeBound, rateForLoad } from "./workload/capacity.ts";
export type { CallSeconds, CallShape, DecodeBound } from "./workload/capacity.ts";
export { findPreset, listWorkloads, presetNames } from "./workload/catalog.ts";
export type { WorkloadListing } from "./workload/catalog.ts";
export type { Distribution } from "./workload/distribution.ts";
export { makeWorkload } from "./workload/make-workload.ts";
export type { Workload, WorkloadOptions, WorkloadRequest } from "./workload/make-workload.ts";
export { budgetPressure } from "./workload/preset.ts";
export type { MaxTokens, Preset, PresetFamily, RoundPlan, StagePlan, TaskPlan } from "./workload/preset.ts";
export { TOOL_WAITS } from "./workload/tool-waits.ts";
export type { ToolWaitName } from "./workload/tool-waits.ts";
export { VOLATILE_SPANS, withVolatileSpan } from "./workload/volatile.ts";
export type { VolatileName, VolatileSpan } from "./workload/volatile.ts";
export { importAzure } from "./import/azure.ts";
export { importCodingSessions } from "./import/coding-sessions.ts";
export type { CodingSessionOptions } from "./import/coding-sessions.ts";
export { importDynamo } from "./import/dynamo.ts";
export type { DynamoOptions } from "./import/dynamo.ts";
export { exportDynamo } from "./import/dynamo-export.ts";
export type { DynamoExportOptions } from "./import/dynamo-export.ts";
export { JOURNAL_SPEC, readJournal } from "./import/journal.ts";
export type { JournalCall, JournalOutcome } from "./import/journal.ts";
export { importJournal } from "./import/journal-tasks.ts";
export { importMooncake } from "./import/mooncake.ts";
export type { MooncakeOptions } from "./import/mooncake.ts";
export { ImportError, linesOf } from "./import/rows.ts";
export type { Imported, ImportOptions, Rows } from "./import/rows.ts";
export { importTracelab } from "./import/tracelab.ts";
export type { TracelabOptions } from "./import/tracelab.ts";
export { aloneSeconds } from "./metrics/alone.ts";
export { runLogOfJournal } from "./metrics/from-journal.ts";
export { runLogOf } from "./metrics/from-simulation.ts";
export type { SimulationFacts } from "./metrics/from-simulation.ts";
export { measure } from "./metrics/metrics.ts";
export type { MetricOptions, Metrics } from "./metrics/metrics.ts";
export type { DecisionTotals, EngineFacts, RequestLog, RunLog, StepLog, TaskLog } from "./metrics/run-log.ts";
export type { SlowdownClass } from "./metrics/slowdown.ts";
export { corePolicy } from "./brute/core-policy.ts";
export { bestMeanJct } from "./brute/optimum.ts";
export type { Optimum } from "./brute/optimum.ts";
export { tryInstances } from "./brute/search.ts";
export type { Player, Tried } from "./brute/search.ts";
export { tinyInstance } from "./brute/tiny-instance.ts";
export type { UnitAgent, UnitCall, UnitInstance, UnitTask } from "./brute/unit-engine.ts";
export { randomPolicy, UNIT_POLICIES } from "./brute/unit-policies.ts";
export { runUnit } from "./brute/unit-run.ts";
export type { UnitPolicy, UnitRun } from "./brute/unit-run.ts";
export { measurementsOfBench } from "./calibrate/bench-rows.ts";
export { fitCpuProfile } from "./calibrate/fit-cpu.ts";
export type { CpuFacts } from "./calibrate/fit-cpu.ts";
export { prefillShape, together } from "./calibrate/measurements.ts";
export type { CopySample, CpuMeasurements, DecodeSample, PrefillSample } from "./calibrate/measurements.ts";
export { row as validationRow } from "./validate/facts.ts";
