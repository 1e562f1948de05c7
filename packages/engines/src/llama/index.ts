export { ensureModel, MADE_MODELS } from "./model-maker.ts";
export type { MadeModelName } from "./model-maker.ts";
export { LlamaEngine } from "./engine.ts";
export type { LlamaEngineOptions } from "./options.ts";
export type { Inspection, PrecisionMode } from "./protocol.ts";
