import type { CoreEvent, Decision, EntryId, Graph, RequestSpec } from "../events.ts";
import type { Policy } from "../policy/policy.ts";
import { createState, type State } from "../state.ts";
import { isDeciding, step } from "../step.ts";
import { config, type CallOptions } from "./builders.ts";

export const BLOCK = 16;
export const POOL = 2_048;

/** Prefixes of the rig: reusable tokens are whole blocks, the rest of the text belongs to the call. */
export const AGENT = {
  PLAN: ["PLAN", 6_000],
  CODE: ["CODE", 8_992],
  TEST: ["TEST", 4_000],
  REVIEW: ["REVIEW", 6_992],
  LEAD: ["LEAD", 4_992],
} as const;

export interface RigOptions {
  readonly policy: Policy;
  readonly config?: Parameters<typeof config>[0];
  /** Confirmations of preempts and evictions arrive this many engine steps later. */
  readonly lateFree?: number;
  /** Most prompt tokens one call computes per engine step; those short of it go first. */
  readonly shareTokens?: number;
  /** Session tokens the engine keeps after a call. */
  readonly retain?: (spec: RequestSpec) => boolean;
  readonly onDecision?: (before: State, decision: Decision) => void;
}

export interface RigCall extends CallOptions {
  readonly id: string;
  readonly at: number;
  readonly tenant?: string;
  readonly graph?: Graph;
  /** Output tokens really generated; `max` defaults to it, as in the rig's whole-call reservation. */
  readonly out: number;
  readonly onDone?: (rig: Rig) => void;
}

export interface CallRecord {
  readonly call: RigCall;
  readonly spec: RequestSpec;
  admittedSeconds: number | null;
  firstTokenSeconds: number | null;
  doneSeconds: number | null;
  /** Prefix tokens found in KV at the first admission. */
  cachedTokens: number;
  redoneTokens: number;
  overtakenBy: readonly string[];
  swapInUntil: number | null;
}

export interface Rig {
  readonly options: RigOptions;
  readonly state: State;
  readonly calls: Map<string, CallRecord>;
  /** What the engine itself holds, apart from core's books. */
  readonly resident: Map<EntryId, number>;
  readonly filling: Map<EntryId, number>;
  readonly evictions: { readonly at: number; readonly entry: EntryId }[];
  readonly preemptions: { readonly at: number; readonly request: string }[];
  policy: Policy;
  keep: readonly EntryId[];
  nowSeconds: number;
  dirty: boolean;
  wakeSeconds: number | null;
  /** Work the copy channel still has to do, as the time it falls idle. */
  channelSeconds: number;
  steps: number;
  readonly late: { steps: number; readonly event: CoreEvent }[];
  readonly timed: { readonly at: number; readonly seq: number; readonly run: () => void }[];
}

export const SPEEDS = {
  prefillSecondsPerToken: 1 / 8_000,
  decodeSecondsPerToken: 0.03,
  kvBytesPerToken: 131_072,
  copyBytesPerSecond: 2e9,
} as const;

/** Rig E of the fault cases: 2,048 blocks of 16, 8 slots, a virtual clock, and core deciding between engine steps. */
export function createRig(options: RigOptions): Rig {
  const setup = config({
    budgetTokens: POOL * BLOCK,
    blockTokens: BLOCK,
    maxRunning: 8,
    hostTier: false,
    failsOnOverflow: true,
    ...options.config,
    speeds: { ...SPEEDS, ...options.config?.speeds },
  });
  return {
    options,
    state: createState(setup),
    calls: new Map(),
    resident: new Map(),
    filling: new Map(),
    evictions: [],
    preemptions: [],
    policy: options.policy,
    keep: [],
    nowSeconds: 0,
    dirty: false,
    wakeSeconds: null,
    channelSeconds: 0,
    steps: 0,
    late: [],
    timed: [],
  };
}

export function send(rig: Rig, event: CoreEvent): void {
  step(rig.state, event);
  if (event.kind === "evicted") {
    rig.resident.delete(event.entry);
    rig.evictions.push({ at: event.at, entry: event.entry });
  }
  if (event.kind === "loaded") rig.resident.set(event.entry, rig.state.entries.get(event.entry)?.tokens ?? 0);
  if (isDeciding(event)) rig.dirty = true;
}

export function at(rig: Rig, seconds: number, run: () => void): void {
  const item = { at: seconds, seq: rig.timed.length === 0 ? 0 : rig.timed.at(-1)!.seq + 1, run };
  let index = rig.timed.length;
  while (index > 0 && rig.timed[index - 1]!.at > seconds) index--;
  rig.timed.splice(index, 0, item);
}

/** Everything due by now, in order of time. */
export function arrivals(rig: Rig): void {
  while (rig.timed.length > 0 && rig.timed[0]!.at <= rig.nowSeconds + 1e-12) rig.timed.shift()!.run();
}
