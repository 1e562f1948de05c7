import type { Profile } from "../model/profile.ts";
import { stepTimer, type StepLoad, type StepTimer } from "../model/step-time.ts";
import { Call, type CallSpec } from "./call.ts";
import { DecodeSet } from "./decode-set.ts";
import { alignPath } from "./radix-node.ts";
import { PinnedPrefixes } from "./pinned.ts";
import { Recorder, type RecorderOptions } from "./recorder.ts";

/** What an engine tells its driver, in the order in which it happens. */
export interface EngineListener {
  token(call: Call, atSeconds: number): void;
  finished(call: Call, atSeconds: number): void;
  preempted(call: Call, atSeconds: number): void;
  /** A copy is complete then: an idle engine has to be asked again. */
  later(atSeconds: number, id: string): void;
}

export interface MachineOptions {
  readonly profile: Profile;
  readonly budgetTokens: number;
  readonly blockTokens: number;
  readonly listener: EngineListener;
  readonly recorder: RecorderOptions;
}

/** The mechanics every rule set shares: step time, decode progress, private KV, books. Which call runs is the rules' affair. */
export class Machine {
  readonly profile: Profile;
  readonly budgetTokens: number;
  readonly blockTokens: number;
  readonly decode: DecodeSet;
  readonly recorder: Recorder;
  readonly listener: EngineListener;
  readonly pinned = new PinnedPrefixes();
  readonly load: StepLoad = { prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: 0, contextTokens: 0, residentTokens: 0 };
  /** KV of running calls outside shared storage. */
  privateTokens = 0;
  /** Instant of the step start or end at work. */
  nowSeconds = 0;
  private readonly timer: StepTimer;
  private readonly streams = new Map<string, number>();
  private submitted = 0;
  private startedSeconds = 0;

  constructor(options: MachineOptions) {
    const { profile, blockTokens, budgetTokens } = options;
    this.profile = profile;
    this.blockTokens = blockTokens;
    this.budgetTokens = Math.floor(budgetTokens / blockTokens) * blockTokens;
    this.listener = options.listener;
    this.decode = new DecodeSet(blockTokens);
    this.recorder = new Recorder(options.recorder);
    this.timer = stepTimer(profile);
  }

  makeCall(spec: CallSpec, atSeconds: number): Call {
    const ids = spec.segments.map(({ stream }) => this.intern(stream));
    const lengths = spec.segments.map(({ tokens }) => tokens);
    return new Call(spec, this.submitted++, alignPath(ids, lengths, this.blockTokens), atSeconds);
  }

  roundUp(tokens: number): number {
    return Math.ceil(tokens / this.blockTokens) * this.blockTokens;
  }

  roundDown(tokens: number): number {
    return Math.floor(tokens / this.blockTokens) * this.blockTokens;
  }

  /** Adds one chunk of `tokens` after `history` tokens to the step being composed. */
  addChunk(tokens: number, history: number): void {
    this.load.prefillTokens += tokens;
    this.load.chunks += 1;
    this.load.prefillWork += tokens * (history + tokens / 2);
  }

  addDecodes(): void {
    this.load.decodes = this.decode.count;
    this.load.contextTokens = this.decode.contextTokens;
  }

  clearLoad(): void {
    const { load } = this;
    load.prefillTokens = load.chunks = load.prefillWork = load.decodes = load.contextTokens = load.residentTokens = 0;
  }

  /** Seconds the composed step takes; `heldTokens` are all tokens in the cache. */
  start(atSeconds: number, heldTokens: number): number {
    this.startedSeconds = atSeconds;
    this.nowSeconds = atSeconds;
    this.load.residentTokens = heldTokens;
    return this.timer(this.load);
  }

  /** Books the step that ends now. */
  end(atSeconds: number, freeTokens: number, cachedTokens: number, movedBytes = 0): void {
    const { startedSeconds, load, pinned } = this;
    const seconds = atSeconds - startedSeconds;
    this.recorder.step(startedSeconds, seconds, load, freeTokens, cachedTokens, movedBytes, pinned.tokens, pinned.count);
  }

  /** The call enters the running set. */
  admitted(call: Call): void {
    this.recorder.admitted += 1;
    this.pinned.add(call);
  }

  /** The call leaves the running set unfinished. */
  preempted(call: Call): void {
    call.preemptions += 1;
    this.recorder.preempted += 1;
    this.pinned.remove(call);
  }

  /** Every decoding call gets its token; those that are complete leave, in order of submission. */
  giveTokens(atSeconds: number, contextAtJoin: (call: Call) => number): Call[] {
    const { decode, recorder } = this;
    for (const call of decode.fresh) recorder.gap(atSeconds - call.lastTokenSeconds, 1);
    recorder.gap(atSeconds - decode.lastTokenSeconds, decode.count - decode.fresh.length);
    recorder.tokens(atSeconds, decode.count);
    decode.lastTokenSeconds = atSeconds;
    decode.advance();
    const done: Call[] = [];
    for (let call = decode.complete(); call !== null; call = decode.complete()) {
      decode.leave(call, contextAtJoin(call));
      done.push(call);
    }
    return done;
  }

  /** The token that a completed prefill samples. */
  prefillToken(call: Call, atSeconds: number): void {
    call.generated += 1;
    if (call.firstTokenSeconds < 0) call.firstTokenSeconds = atSeconds;
    else this.recorder.gap(atSeconds - call.lastTokenSeconds, 1);
    this.recorder.tokens(atSeconds, 1);
    call.lastTokenSeconds = atSeconds;
    this.listener.token(call, atSeconds);
  }

  finish(call: Call, atSeconds: number): void {
    call.phase = "done";
    call.lastTokenSeconds = atSeconds;
    call.finishedSeconds = atSeconds;
    this.pinned.remove(call);
    this.listener.finished(call, atSeconds);
  }

  private intern(stream: string): number {
    let id = this.streams.get(stream);
    if (id === undefined) this.streams.set(stream, (id = this.streams.size));
    return id;
  }
}
