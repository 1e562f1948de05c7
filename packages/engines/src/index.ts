export { EngineError, NO_USAGE } from "./engine.ts";
export type {
  CallEnd,
  CallUsage,
  ChatMessage,
  CommandOutcome,
  Engine,
  EngineCall,
  EngineCommand,
  EngineDescription,
  EngineEvent,
  EngineSink,
  Fidelity,
  PreparedPrompt,
  PromptInput,
  Sampling,
} from "./engine.ts";
export { OpenAiEngine } from "./openai/openai-engine.ts";
export type { OpenAiOptions } from "./openai/openai-engine.ts";
export type { CallScript } from "./scripted/job.ts";
export { ScriptedEngine } from "./scripted/scripted-engine.ts";
export type { ScriptedOptions } from "./scripted/scripted-engine.ts";
