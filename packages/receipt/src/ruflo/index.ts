export { gatewayExecutor } from "./gateway-executor.ts";
export type { GatewayExecutorOptions, GatewayWorkflowExecutor, PromptParts, WorkflowExecutorClass } from "./gateway-executor.ts";
export type { DagAgent, DagTask, DagWorkflow } from "./dag.ts";
export { UnknownEngine } from "./engine.ts";
export { installFromEnvironment } from "./environment.ts";
export { DEFAULT_LOOP, installReceipts } from "./install.ts";
export type { RufloReceipts, RufloReceiptsOptions, RufloReceiptsStats } from "./install.ts";
export type { Bounds } from "./steps.ts";
