import { engineContract } from "../engine.contract.ts";
import { ScriptedEngine } from "./scripted-engine.ts";

engineContract("scripted", () => Promise.resolve({ engine: new ScriptedEngine({ stepMs: 0 }) }));
engineContract("scripted, tight and unreserved, split characters", () =>
  Promise.resolve({
    engine: new ScriptedEngine({ stepMs: 0, kvTokens: 1_500, chunkTokens: 16, reserve: false, alphabet: "utf8" }),
  }),
);
