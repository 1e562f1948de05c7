export { EngineError } from "./engine.ts";
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
