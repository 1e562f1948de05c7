import type { CoreConfig } from "../config.ts";
import type { Graph, GraphStage, RequestSpec } from "../events.ts";
import { createPolicy, type PolicyChanges } from "../policy/registry.ts";
import type { Policy } from "../policy/policy.ts";
import { createState, type State } from "../state.ts";
import { step } from "../step.ts";

export const MU = 262_144;

export function config(
  changes: Partial<Omit<CoreConfig, "speeds">> & { speeds?: Partial<CoreConfig["speeds"]> } = {},
): CoreConfig {
  const { speeds, ...rest } = changes;
  return {
    budgetTokens: 10_000,
    blockTokens: 1,
    maxRunning: 32,
    contextTokens: null,
    hostTier: true,
    redo: "swap",
    failsOnOverflow: false,
    headroomTokens: 0,
    ...rest,
    speeds: {
      prefillSecondsPerToken: 0.0003,
      decodeSecondsPerToken: 0.05,
      kvBytesPerToken: MU,
      copyBytesPerSecond: 24e9,
      ...speeds,
    },
  };
}

export function fresh(changes: Parameters<typeof config>[0] = {}): State {
  return createState(config(changes));
}

export function policy(id: string, changes: PolicyChanges = {}): Policy {
  const found = createPolicy(id, changes);
  if (found === null) throw new Error(`no policy ${id}`);
  return found;
}

export interface CallOptions {
  readonly task?: string;
  readonly stage?: string;
  readonly agent?: string;
  readonly prefix?: readonly [id: string, tokens: number];
  readonly own?: number;
  readonly max?: number;
  readonly output?: number;
  readonly session?: readonly [id: string, reusableTokens: number];
}

export function call(id: string, options: CallOptions = {}): RequestSpec {
  const stage = options.stage ?? "s";
  return {
    id,
    task: options.task ?? `task-${id}`,
    stage,
    agent: options.agent ?? options.prefix?.[0] ?? stage,
    prefix: options.prefix === undefined ? null : { id: options.prefix[0], tokens: options.prefix[1] },
    ownPromptTokens: options.own ?? 100,
    maxTokens: options.max ?? 1000,
    expectedOutputTokens: options.output ?? 100,
    session: options.session === undefined ? null : { id: options.session[0], reusableTokens: options.session[1] },
  };
}

export function arrive(state: State, at: number, task: string, graph?: Graph, arrivalSeconds = at): void {
  step(state, { kind: "taskArrived", at, task: { id: task, tenant: "x", workflow: null, arrivalSeconds } });
  if (graph !== undefined) step(state, { kind: "graphRevealed", at, task, graph });
}

/** A call with its task; the task is created when new. */
export function ready(state: State, at: number, id: string, options: CallOptions = {}): void {
  const spec = call(id, options);
  if (!state.tasks.has(spec.task)) arrive(state, at, spec.task);
  step(state, { kind: "ready", at, request: spec });
}

export function stage(id: string, serviceSeconds: number, more: Partial<GraphStage> = {}): GraphStage {
  return { id, agent: more.agent ?? id, serviceSeconds, ...more };
}

/** Makes a prefix resident (or only on host) without any request. */
export function bringIn(state: State, at: number, id: string, tokens: number, where: "resident" | "host"): void {
  const probe = `probe-${id}`;
  ready(state, at, probe, { prefix: [id, tokens], own: 0, max: 0 });
  step(state, { kind: "loaded", at, entry: `prefix:${id}`, computedTokens: tokens });
  step(state, { kind: "cancelled", at, request: probe });
  step(state, { kind: "taskDone", at, task: `task-${probe}` });
  if (where === "host") step(state, { kind: "evicted", at, entry: `prefix:${id}`, keptOnHost: true });
}

/** Commits an admission that no policy chose. */
export function admit(state: State, at: number, request: string, needTokens: number, creditSeconds = 0): void {
  step(state, {
    kind: "committed",
    at,
    decision: {
      policy: "test",
      atSeconds: at,
      preempt: [],
      evict: [],
      load: [],
      admit: [{ request, needTokens, creditSeconds }],
      keep: [],
      why: [],
      wakeAtSeconds: null,
    },
  });
}
