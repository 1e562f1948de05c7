export { asInvalidConfig, type ConfigSource, type ReloadReport } from "./config/reload.ts";
export { checkOptions, liveConfig, liveDefaults, type LiveConfig } from "./config/live.ts";
export { readConfigFile, type ReadConfig } from "./config/read-file.ts";
export { LOG_LEVELS, type ConfigFile } from "./config/schema.ts";
export { systemClock, type Clock } from "./clock.ts";
export { errorCatalogue, GatewayError, type CatalogueRow, type ErrorCode, type GatewayErrorOptions } from "./errors.ts";
export { headerNames, metricNames } from "./names.ts";
export {
  defaultLimits,
  type GatewayLimits,
  type GatewayOptions,
  type Identified,
  type Identify,
  type IdentifyInput,
  type ParseReceipt,
  type ParseWorkflow,
  type ReceiptIdentity,
} from "./options.ts";
export type { CallIdentity, Explanation, Health, ScheduledCall, Scheduler, StateSnapshot } from "./scheduler.ts";
export { buildGateway } from "./server.ts";
export { noKeyLimits, type KeyLimits } from "./key-limits.ts";
export { Loop, type LoopOptions } from "./loop.ts";
export type { TimeSummary } from "./loop/decision-times.ts";
export { startGateway, type RunningGateway, type StartOptions } from "./start.ts";
