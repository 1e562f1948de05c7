import {
  createState,
  decide,
  isDeciding,
  overflowVictims,
  step,
  type CoreConfig,
  type CoreEvent,
  type EntryId,
  type Policy,
  type RequestSpec,
  type State,
} from "@topas/core";
import type { JointEngine } from "../rules/joint.ts";
import type { JointListener } from "../rules/joint-types.ts";
import type { Call } from "./call.ts";
import type { VirtualEngine } from "./engine.ts";
import type { TaskCall } from "./task-runner.ts";

const PASSES_PER_INSTANT = 4;

export interface GovernorOptions {
  readonly config: CoreConfig;
  readonly policy: Policy;
  /** The engine under full control, or null: a stock engine, to which the policy can only submit. */
  readonly joint: JointEngine | null;
  readonly engine: VirtualEngine;
  readonly later: (atSeconds: number, kind: "timer" | "copied", id: string, run: (atSeconds: number) => void) => void;
  /** Every event after it was applied. */
  readonly onEvent: ((state: State, event: CoreEvent) => void) | null;
}

interface Told {
  readonly call: TaskCall;
  live: Call | null;
  filled: number;
  generated: number;
}

/**
 * The loop of the gateway in virtual time: event in, `step`, one decision per instant, carried out in the order preempt,
 * evict, load, admit, outcomes back as events. Progress is told when somebody is about to read it (algorithm 2.4).
 */
export class Governor {
  readonly state: State;
  decisions = 0;
  /** Decisions after which something waited that was not admitted. */
  contended = 0;
  private readonly options: GovernorOptions;
  private readonly calls = new Map<string, Told>();
  private readonly running = new Set<Told>();
  private due = false;
  private wakes = 0;

  constructor(options: GovernorOptions) {
    this.options = options;
    this.state = createState(options.config);
  }

  ready(call: TaskCall, atSeconds: number): void {
    this.calls.set(call.id, { call, live: null, filled: 0, generated: 0 });
    this.send({ kind: "ready", at: atSeconds, request: requestSpec(call) });
  }

  /** Tells the core; marks the instant as one that needs a decision. */
  send(event: CoreEvent): void {
    if (event.kind !== "progress" && isDeciding(event)) this.flush(event.at);
    step(this.state, event);
    if (isDeciding(event)) this.due = true;
    this.options.onEvent?.(this.state, event);
  }

  /** The call is complete; `retainedTokens` stay as its session entry. */
  finished(live: Call, retainedTokens: number, atSeconds: number): void {
    const told = this.calls.get(live.spec.id)!;
    this.tell([told], atSeconds);
    this.running.delete(told);
    this.calls.delete(live.spec.id);
    this.send({ kind: "roundDone", at: atSeconds, request: live.spec.id, retainedTokens });
  }

  /** False: the policy sends everything on to the engine's own queue. */
  get governs(): boolean {
    return this.options.policy.options.governs;
  }

  /** True: an event of this instant asks for a decision. */
  get isDue(): boolean {
    return this.due;
  }

  settle(atSeconds: number): void {
    if (!this.due) return;
    this.due = false;
    this.flush(atSeconds);
    for (let pass = 0; pass < PASSES_PER_INSTANT; pass++) if (!this.once(atSeconds)) break;
  }

  /** The engine's side of a call that was handed over. */
  liveOf(id: string): Call | null {
    return this.calls.get(id)?.live ?? null;
  }

  /** What a joint engine reports. */
  listener(): JointListener {
    const back = (live: Call, kept: number): void => {
      const told = this.calls.get(live.spec.id)!;
      this.running.delete(told);
      if (kept > 0) return;
      told.filled = 0;
      told.generated = live.generated;
    };
    return {
      loaded: (entry, computedTokens, at) => this.send({ kind: "loaded", at, entry, computedTokens }),
      loadFailed: (entry, at) => this.send({ kind: "loadFailed", at, entry }),
      evicted: (entry, keptOnHost, at) => this.send({ kind: "evicted", at, entry, keptOnHost }),
      hostDropped: (entry, at) => this.send({ kind: "hostDropped", at, entry }),
      released: (live, keptTokens, at) => {
        back(live, keptTokens);
        this.send({ kind: "preempted", at, request: live.spec.id, by: "us", keptTokens });
      },
      overflow: (short, at) => {
        this.flush(at);
        return overflowVictims(this.state, short).map((id) => this.calls.get(id)!.live!);
      },
      later: (at, id, run) => this.options.later(at, "copied", id, run),
    };
  }

  /** Preempted on the engine's own account. */
  lost(live: Call, atSeconds: number): void {
    if (this.options.joint === null) return;
    const told = this.calls.get(live.spec.id)!;
    this.running.delete(told);
    told.filled = 0;
    told.generated = live.generated;
    this.send({ kind: "preempted", at: atSeconds, request: live.spec.id, by: "engine", keptTokens: 0 });
  }

  private once(atSeconds: number): boolean {
    const { policy, joint } = this.options;
    const decision = decide(this.state, policy, atSeconds);
    this.decisions += 1;
    this.wake(decision.wakeAtSeconds, atSeconds);
    if (joint !== null) joint.keep = decision.keep;
    const { preempt, evict, load, admit } = decision;
    const isEmpty = preempt.length + evict.length + load.length + admit.length === 0;
    if (!isEmpty) this.send({ kind: "committed", at: atSeconds, decision });
    if (this.state.waiting.size > 0) this.contended += 1;
    if (isEmpty) return false;
    for (const { request, mode } of preempt) {
      const told = this.calls.get(request)!;
      this.running.delete(told);
      joint?.preempt(told.live!, mode, atSeconds);
    }
    for (const { entry, keepHost } of evict) {
      if (joint !== null) joint.evict(entry, keepHost, atSeconds);
      else this.send({ kind: "evicted", at: atSeconds, entry, keptOnHost: false });
    }
    for (const { entry, from } of load) if (from === "host") joint?.loadFromHost(entry, atSeconds);
    for (const { request } of admit) this.admit(this.calls.get(request)!, atSeconds);
    return preempt.length === 0;
  }

  private admit(told: Told, atSeconds: number): void {
    const { joint, engine } = this.options;
    const { call } = told;
    this.running.add(told);
    if (joint === null) {
      told.live ??= engine.submit(call.spec, atSeconds);
      return;
    }
    const prefix = call.prefix === null ? null : { id: `prefix:${call.prefix.id}` as EntryId, tokens: call.prefix.tokens };
    const session = call.session === null ? null : { ...call.session, id: `session:${call.session.id}` as EntryId };
    told.live ??= joint.submit(call.spec, atSeconds, { prefix, session });
    if (told.filled === 0) told.filled = this.state.requests.get(call.id)!.filledTokens;
    joint.admit(told.live, atSeconds);
  }

  private wake(wakeAtSeconds: number | null, nowSeconds: number): void {
    const wake = ++this.wakes;
    if (wakeAtSeconds === null || wakeAtSeconds <= nowSeconds) return;
    this.options.later(wakeAtSeconds, "timer", "wake", (at) => {
      if (wake === this.wakes) this.send({ kind: "timer", at });
    });
  }

  private flush(atSeconds: number): void {
    this.tell(this.running, atSeconds);
  }

  private tell(calls: Iterable<Told>, atSeconds: number): void {
    const { decode } = this.options.engine.machine;
    const deltas: { request: string; prefilled: number; decoded: number }[] = [];
    for (const told of calls) {
      const live = told.live;
      if (live === null || live.phase === "waiting" || live.phase === "swapIn") continue;
      const decoding = live.phase === "decode" || live.phase === "done";
      const filled = decoding
        ? Math.max(told.filled, live.target - (this.options.joint === null ? (told.call.prefix?.tokens ?? 0) : 0))
        : Math.min(live.filled, live.target);
      const generated = decode.generatedOf(live);
      const prefilled = Math.max(0, filled - told.filled);
      const decoded = generated - told.generated;
      if (prefilled === 0 && decoded === 0) continue;
      told.filled = filled;
      told.generated = generated;
      deltas.push({ request: told.call.id, prefilled, decoded });
    }
    if (deltas.length > 0) this.send({ kind: "progress", at: atSeconds, deltas });
  }
}

function requestSpec(call: TaskCall): RequestSpec {
  return {
    id: call.id,
    task: call.task.id,
    stage: call.stage,
    agent: call.agent,
    prefix: call.prefix,
    ownPromptTokens: call.ownPromptTokens,
    maxTokens: call.maxTokens,
    expectedOutputTokens: null,
    session: call.session,
  };
}
