import * as fc from "fast-check";
import type { CoreConfig } from "../config.ts";
import type { Graph } from "../events.ts";
import { feasible } from "../feasible.ts";
import type { Policy } from "../policy/policy.ts";
import { createState, type State } from "../state.ts";
import { arrive, call, config } from "./builders.ts";
import { createWorld, deciding, type World } from "./world.ts";

export type Command =
  | {
      readonly do: "call";
      readonly task: number;
      readonly stage: number;
      readonly prefix: number;
      readonly own: number;
      readonly max: number;
      readonly out: number;
      readonly session: boolean;
    }
  | { readonly do: "tick"; readonly times: number; readonly seconds: number }
  | { readonly do: "cancel" | "fail" | "refuse" | "preempt"; readonly pick: number }
  | { readonly do: "endTask"; readonly task: number; readonly cancelled: boolean }
  | { readonly do: "skip"; readonly task: number; readonly stage: number }
  | { readonly do: "engineLost" };

const small = fc.nat({ max: 7 });
export const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 30,
    arbitrary: fc.record({
      do: fc.constant("call" as const),
      task: small,
      stage: fc.nat({ max: 3 }),
      prefix: fc.nat({ max: 5 }),
      own: fc.constantFrom(0, 1, 15, 16, 90, 400),
      max: fc.constantFrom(1, 16, 100, 300),
      out: fc.integer({ min: 1, max: 300 }),
      session: fc.boolean(),
    }),
  },
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant("tick" as const),
      times: fc.integer({ min: 1, max: 6 }),
      seconds: fc.constantFrom(0.05, 1, 7),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("cancel" as const, "fail" as const, "refuse" as const, "preempt" as const),
      pick: small,
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("endTask" as const), task: small, cancelled: fc.boolean() }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("skip" as const), task: small, stage: fc.nat({ max: 3 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("engineLost" as const) }) },
);

export const history = fc.array(command, { minLength: 5, maxLength: 60 });

export const worldConfig: fc.Arbitrary<CoreConfig> = fc
  .record({
    budgetTokens: fc.constantFrom(1_500, 2_048, 4_000),
    blockTokens: fc.constantFrom(1, 16),
    maxRunning: fc.constantFrom(1, 3, 8),
    hostTier: fc.boolean(),
    redo: fc.constantFrom("swap" as const, "reprefill" as const, "redecode" as const, "unknown" as const),
  })
  .map(config);

/** Prefix 0 is none; the others are 0 (empty), 15, 16, 500 and 900 tokens long. */
const PREFIX_TOKENS = [0, 0, 15, 16, 500, 900];

const GRAPH: Graph = {
  stages: [
    { id: "s0", agent: "a0", serviceSeconds: 3 },
    { id: "s1", agent: "a1", rounds: { max: 4, mean: 2 } },
    { id: "s2", agent: "a2", expectedOutputTokens: 50 },
    { id: "s3", agent: "a3" },
  ],
  edges: [
    ["s0", "s1"],
    ["s0", "s2"],
    ["s1", "s3"],
    ["s2", "s3"],
  ],
};

export interface Run {
  readonly world: World;
  readonly state: State;
}

/** Plays a history; `createWorld` checks every invariant after every event. Even tasks have a graph. */
export function play(
  setup: CoreConfig,
  policy: Policy,
  commands: readonly Command[],
  onDecision?: Parameters<typeof createWorld>[2]["onDecision"],
  lag = false,
): Run {
  const state = createState(setup);
  const outputs = new Map<string, number>();
  const world = createWorld(state, policy, {
    outputTokens: (spec) => outputs.get(spec.id) ?? 1,
    retain: (spec) => spec.session !== null,
    lag,
    ...(onDecision === undefined ? {} : { onDecision }),
  });
  commands.forEach((c, index) => apply(world, outputs, c, index));
  return { world, state };
}

function apply(world: World, outputs: Map<string, number>, c: Command, index: number): void {
  const { state } = world;
  const at = world.nowSeconds;
  switch (c.do) {
    case "call": {
      const task = `t${c.task}`;
      if (!state.tasks.has(task)) arrive(state, at, task, c.task % 2 === 0 ? GRAPH : undefined);
      const tokens = PREFIX_TOKENS[c.prefix]!;
      const held = state.entries.get(`session:${task}-${c.stage}`);
      const spec = call(`r${index}`, {
        task,
        stage: `s${c.stage}`,
        own: c.own,
        max: c.max,
        output: c.out,
        ...(c.prefix === 0 ? {} : { prefix: [`p${c.prefix}`, tokens] as const }),
        ...(c.session ? { session: [`${task}-${c.stage}`, Math.min(c.own, held?.tokens ?? 0)] as const } : {}),
      });
      if (!feasible(state.config, { prefixTokens: tokens, ownPromptTokens: c.own, maxTokens: c.max }).ok) return;
      if (tokens + c.own + c.max + 64 > state.ledger.budgetTokens!) return;
      outputs.set(spec.id, c.out);
      return deciding(world, { kind: "ready", at, request: spec });
    }
    case "tick":
      for (let i = 0; i < c.times; i++) world.tick(c.seconds, 64);
      return;
    case "cancel":
    case "fail": {
      const request = pick(state.requests, c.pick);
      if (request === null) return;
      return deciding(world, { kind: c.do === "cancel" ? "cancelled" : "failed", at, request });
    }
    case "refuse": {
      const request = pick(state.running, c.pick);
      if (request !== null && state.running.get(request)!.cells === 0)
        deciding(world, { kind: "refused", at, request, reason: "full" });
      return;
    }
    case "preempt": {
      const request = pick(state.running, c.pick);
      if (request !== null) deciding(world, { kind: "preempted", at, request, by: "engine", keptTokens: 0 });
      return;
    }
    case "endTask":
      return deciding(world, { kind: c.cancelled ? "taskCancelled" : "taskDone", at, task: `t${c.task}` });
    case "skip":
      return deciding(world, { kind: "stageSkipped", at, task: `t${c.task}`, stage: `s${c.stage}` });
    case "engineLost":
      return deciding(world, { kind: "engineLost", at });
  }
}

function pick(map: ReadonlyMap<string, unknown>, n: number): string | null {
  const keys = [...map.keys()];
  return keys.length === 0 ? null : keys[n % keys.length]!;
}
