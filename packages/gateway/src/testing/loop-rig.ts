/** A loop over the scripted engine that steps by hand, its books checked after every event. */
import { checkInvariants } from "@topas/core";
import { ScriptedEngine, type CallEnd, type ScriptedOptions } from "@topas/engines";
import { Loop, type LoopOptions } from "../loop.ts";
import type { CallIdentity, ScheduledCall } from "../scheduler.ts";

export interface Rig {
  readonly engine: ScriptedEngine;
  readonly loop: Loop;
  readonly ends: Map<string, CallEnd[]>;
  readonly admitted: string[];
  readonly violations: string[];
  send(
    id: string,
    identity?: Partial<CallIdentity>,
    size?: { prompt?: number; max?: number; agent?: string; tail?: string },
  ): Promise<void>;
  /** Engine steps until nothing is left to do, or `limit`. */
  drain(limit?: number): Promise<void>;
}

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export async function loopRig(engineOptions: ScriptedOptions = {}, loopOptions: Partial<LoopOptions> = {}): Promise<Rig> {
  const engine = new ScriptedEngine({ stepMs: "manual", kvTokens: 1_000, maxRunning: 4, ...engineOptions });
  await engine.start();
  const ends = new Map<string, CallEnd[]>();
  const admitted: string[] = [];
  const violations: string[] = [];
  const loop = new Loop({
    engine,
    policy: "topas",
    nowSeconds: () => performance.now() / 1000,
    onEvent: (state, event) => violations.push(...checkInvariants(state).map((v) => `${event.kind}: ${v}`)),
    ...loopOptions,
  });
  const send: Rig["send"] = async (id, identity = {}, size = {}) => {
    const agent = size.agent ?? "coder";
    const prompt = await engine.prepare({
      kind: "chat",
      tenant: "t",
      messages: [
        { role: "system", content: `${agent} ${"word ".repeat(30)}${size.tail ?? ""}` },
        { role: "user", content: "ask ".repeat(size.prompt ?? 10) },
      ],
    });
    ends.set(id, []);
    const call: ScheduledCall = {
      id,
      identity: {
        tenant: "t",
        task: `task-${id}`,
        taskIsCall: true,
        workflow: null,
        stage: "*",
        agent,
        session: null,
        ageSeconds: 0,
        graph: null,
        hints: null,
        final: false,
        source: "inferred",
        ...identity,
      },
      prompt,
      maxTokens: size.max ?? 8,
      sampling: { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: true },
      stop: [],
      http: null,
      sink: { token: () => {}, end: (end) => ends.get(id)?.push(end) },
      onAdmitted: () => admitted.push(id),
    };
    loop.enqueue(call);
  };
  const drain = async (limit = 2_000): Promise<void> => {
    for (let i = 0; i < limit && loop.waiting.size + loop.running.size > 0; i++) {
      await turn();
      engine.tick();
    }
    await turn();
  };
  return { engine, loop, ends, admitted, violations, send, drain };
}
