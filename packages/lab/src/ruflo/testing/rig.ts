import type { CoreEvent, Graph } from "@topas/core";
import { ScriptedEngine, type CallScript } from "@topas/engines";
import { startGateway, type RunningGateway } from "@topas/gateway";
import { exactLengths, type LengthOf } from "../../live/exact-lengths.ts";

/** What the scheduler was told of one call, with the client's own names. */
export interface SeenCall {
  readonly task: string;
  readonly stage: string;
  readonly agent: string;
}

export interface Rig {
  readonly gateway: RunningGateway;
  readonly seen: SeenCall[];
  /** By the client's task id; the last one told. */
  readonly graphs: Map<string, Graph>;
  readonly count: (name: string) => number;
  readonly core: (name: string) => number;
  /** Resolves when the condition holds; rejects after 10 s. */
  readonly until: (holds: () => boolean) => Promise<void>;
}

export interface RigOptions {
  readonly lengths?: LengthOf;
  /** How a call behaves, by the number of tokens it may make. */
  readonly script?: (maxTokens: number) => CallScript | undefined;
  readonly taskIdleSeconds?: number;
}

/** A gateway over the scripted engine, on a free port. */
export async function openRig({ lengths = () => null, script, taskIdleSeconds }: RigOptions = {}): Promise<Rig> {
  const seen: SeenCall[] = [];
  const graphs = new Map<string, Graph>();
  const engine = new ScriptedEngine({
    kvTokens: 32_768,
    stepMs: 1,
    ...(script === undefined ? {} : { script: ({ maxTokens }) => script(maxTokens) }),
  });
  const gateway = await startGateway({
    engine: exactLengths(engine, lengths),
    policy: "topas-guarded",
    host: "127.0.0.1",
    port: 0,
    keys: new Map(),
    logLevel: "silent",
    ...(taskIdleSeconds === undefined ? {} : { taskIdleSeconds }),
    onEvent: (_, event: CoreEvent) => {
      if (event.kind === "ready") {
        const { task, stage, agent } = event.request;
        seen.push({ task: nameIn(task), stage, agent: nameIn(agent) });
      }
      if (event.kind === "graphRevealed") graphs.set(nameIn(event.task), event.graph);
    },
  });
  return {
    gateway,
    seen,
    graphs,
    count: (name) => gateway.loop.counters()[name] ?? 0,
    core: (name) => gateway.loop.state.counters[name] ?? 0,
    until: async (holds) => {
      for (const end = Date.now() + 10_000; !holds();) {
        if (Date.now() > end) throw new Error("it did not come true within 10 s");
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
  };
}

/** `7:default,5:coder,` → `coder`. */
function nameIn(scoped: string): string {
  const [, length, rest] = /^7:default,(\d+):(.*)$/s.exec(scoped) ?? [];
  return rest === undefined ? scoped : rest.slice(0, Number(length));
}
