import { Heap } from "../heap.ts";
import type { Call } from "./call.ts";

interface Ending {
  readonly call: Call;
  readonly step: number;
  readonly epoch: number;
}

/**
 * The sequences that decode together. One step gives every member one token, so members are kept as sums and a step costs
 * the same whatever their number: progress of a call is the step counter minus the one at which it joined.
 */
export class DecodeSet {
  readonly members = new Set<Call>();
  /** Members that joined since the last decode step; their last token is younger. */
  fresh: Call[] = [];
  step = 0;
  /** Sum of tokens read by the next step. */
  contextTokens = 0;
  lastTokenSeconds = 0;
  private readonly blockTokens: number;
  /** Members by the step (mod block) at which they need a new block. */
  private readonly dueBlocks: Int32Array;
  private readonly endings = new Heap<Ending>((a, b) => a.step - b.step || a.call.order - b.call.order);

  constructor(blockTokens: number) {
    this.blockTokens = blockTokens;
    this.dueBlocks = new Int32Array(blockTokens);
  }

  get count(): number {
    return this.members.size;
  }

  /** `held`: tokens of the call that are rounded to blocks together; `context`: tokens its next step reads. */
  join(call: Call, held: number, context: number): void {
    call.phase = "decode";
    call.joinStep = this.step;
    call.heldAtJoin = held;
    call.finishStep = this.step + call.outputTokens - call.generated;
    call.epoch += 1;
    this.members.add(call);
    this.fresh.push(call);
    this.contextTokens += context;
    this.dueBlocks[this.phaseOf(call)]! += 1;
    this.endings.push({ call, step: call.finishStep, epoch: call.epoch });
  }

  /** Writes its progress back into the call. `context`: as at joining. */
  leave(call: Call, contextAtJoin: number): void {
    const steps = this.step - call.joinStep;
    this.members.delete(call);
    const young = this.fresh.indexOf(call);
    if (young < 0) call.lastTokenSeconds = this.lastTokenSeconds;
    else this.fresh.splice(young, 1);
    this.contextTokens -= contextAtJoin + steps;
    this.dueBlocks[this.phaseOf(call)]! -= 1;
    call.generated += steps;
    call.filled = call.heldAtJoin + steps;
    call.epoch += 1;
  }

  generatedOf(call: Call): number {
    return call.phase === "decode" ? call.generated + this.step - call.joinStep : call.generated;
  }

  heldOf(call: Call): number {
    return call.phase === "decode" ? call.heldAtJoin + this.step - call.joinStep : call.filled;
  }

  /** Blocks the next step has to allocate. */
  blocksDue(): number {
    return this.dueBlocks[this.step % this.blockTokens]!;
  }

  needsBlock(call: Call): boolean {
    return this.phaseOf(call) === this.step % this.blockTokens;
  }

  /** One step: everybody has one token more. */
  advance(): void {
    this.step += 1;
    this.contextTokens += this.members.size;
    this.fresh.length = 0;
  }

  /** The next member that is complete, or null. It has still to leave. */
  complete(): Call | null {
    for (let next = this.endings.peek(); next !== undefined && next.step <= this.step; next = this.endings.peek()) {
      this.endings.pop();
      if (next.epoch === next.call.epoch && next.call.phase === "decode") return next.call;
    }
    return null;
  }

  private phaseOf(call: Call): number {
    const phase = (call.joinStep - call.heldAtJoin) % this.blockTokens;
    return phase < 0 ? phase + this.blockTokens : phase;
  }
}
