import { ScriptedEngine, type EngineCall, type PromptInput } from "@topas/engines";
import { describe, expect, it } from "vitest";
import { engineContract } from "../../../engines/src/engine.contract.ts";
import { listen } from "../../../engines/src/testing/listen.ts";
import { exactLengths, markerOf, type LengthOf } from "./exact-lengths.ts";

engineContract("exact lengths over scripted", () =>
  Promise.resolve({ engine: exactLengths(new ScriptedEngine({ stepMs: 0 }), () => null) }),
);

const chat = (...users: string[]): PromptInput => ({
  kind: "chat",
  tenant: "t",
  messages: [{ role: "system", content: "you are an agent" }, ...users.map((content) => ({ role: "user", content }))],
});

async function rig(lengthOf: LengthOf, script?: ConstructorParameters<typeof ScriptedEngine>[0]) {
  const engine = exactLengths(new ScriptedEngine({ stepMs: 0, ...script }), lengthOf);
  await engine.start();
  let made = 0;
  const run = async (prompt: PromptInput, maxTokens: number) => {
    const sampling = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: false };
    const id = `c${(made += 1)}`;
    const call: EngineCall = {
      id,
      prompt: await engine.prepare(prompt),
      maxTokens,
      sampling,
      stop: [],
      session: null,
      http: null,
    };
    const heard = listen();
    engine.submit(call, heard.sink);
    const { reason, usage } = await heard.end;
    return { id, reason, tokens: usage.completionTokens, heard: heard.tokens.length };
  };
  return { engine, run };
}

describe("exact lengths", () => {
  it("a marked call ends after the drawn number, as a model ends it; the client's limit still holds", async () => {
    const { engine, run } = await rig((job, stage) => (job === "j1" && stage === "plan" ? 5 : 40));
    expect(await run(chat(`${markerOf("j1", "plan")} go`), 20)).toMatchObject({ reason: "stop", tokens: 5, heard: 5 });
    expect(await run(chat(`${markerOf("j1", "write")} go`), 20)).toMatchObject({ reason: "length", tokens: 20, heard: 20 });
    await engine.close();
  });

  it("a model that would end early or be cut at a stop string does not", async () => {
    const { engine, run } = await rig(() => 12, { script: () => ({ tokens: 3 }) });
    expect(await run(chat(markerOf("j", "s")), 20)).toMatchObject({ tokens: 12 });
    await engine.close();
  });

  it("counts visits of a stage by its submitted calls, and tells whose a call was", async () => {
    const drawn = [3, 7, 2];
    const { engine, run } = await rig((_job, stage, visit) => (stage === "work" ? drawn[visit]! : 4));
    const first = await run(chat("no marker here", markerOf("j", "work")), 20);
    expect(await run(chat(markerOf("j", "other")), 20)).toMatchObject({ tokens: 4 });
    await engine.prepare(chat(markerOf("j", "work")));
    const second = await run(chat(markerOf("j", "work")), 20);
    const third = await run(chat(markerOf("j", "work"), "and more"), 20);
    expect([first.tokens, second.tokens, third.tokens]).toEqual(drawn);
    expect(engine.markOf(second.id)).toEqual({ job: "j", stage: "work", visit: 1 });
    await engine.close();
  });

  it("an unmarked call, and null, are the engine's own affair", async () => {
    const { engine, run } = await rig(() => null);
    expect(await run(chat("hello"), 9)).toMatchObject({ reason: "length", tokens: 9 });
    expect(await run(chat(markerOf("j", "s")), 9)).toMatchObject({ reason: "length", tokens: 9 });
    expect(engine.markOf("nobody")).toBeNull();
    await engine.close();
  });
});
