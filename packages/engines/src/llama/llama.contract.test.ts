import { engineContract } from "../engine.contract.ts";
import { LlamaEngine } from "./engine.ts";
import { modelPath } from "./testing/kit.ts";

// Exact mode: only there is output independent of batch mates and cell layout.
engineContract("llama, nano1m, exact", async () => ({
  engine: new LlamaEngine({
    modelPath: await modelPath("nano1m"),
    kvTokens: 1_536,
    mode: "exact",
    checkEveryStep: true,
    maxRunning: 4,
  }),
}));
