import type { Call } from "../engine/call.ts";
import type { Machine } from "../engine/machine.ts";
import type { CopyChannel } from "../model/transfer.ts";
import type { KvEntry } from "./entries.ts";

type Later = (atSeconds: number, id: string, run: (atSeconds: number) => void) => void;

/** Copies between device and host under way, and the cells they hold meanwhile. */
export class JointCopies {
  /** Copies in flight: while there are any, a shortage of cells may pass by itself. */
  inFlight = 0;
  /** Cells of calls that are being swapped, out or in. */
  callTokens = 0;
  /** Entries to be copied back that have no room yet. */
  readonly waiting: KvEntry[] = [];
  private readonly machine: Machine;
  private readonly channel: CopyChannel;
  private readonly later: Later;

  constructor(machine: Machine, channel: CopyChannel, later: Later) {
    this.machine = machine;
    this.channel = channel;
    this.later = later;
  }

  entryIn(entry: KvEntry, atSeconds: number, done: (atSeconds: number) => void): void {
    this.run(entry.id, this.channel.copy(entry.tokens, "toDevice", atSeconds), done);
  }

  /** Takes the cells of a swapped call and copies it back. */
  callIn(call: Call, atSeconds: number, done: (atSeconds: number) => void): void {
    const cells = this.machine.roundUp(call.filled);
    this.machine.privateTokens += cells;
    this.callTokens += cells;
    this.run(call.spec.id, this.channel.copy(call.filled, "toDevice", atSeconds), done);
  }

  /** Its cells stay taken until `callGone`. `isCopied`: they are counted here already, by a copy in that is given up. */
  callOut(call: Call, isCopied: boolean, atSeconds: number, done: (atSeconds: number) => void): void {
    if (!isCopied) this.callTokens += this.machine.roundUp(call.filled);
    this.run(call.spec.id, this.channel.copy(call.filled, "toHost", atSeconds), done);
  }

  callGone(cells: number): void {
    this.machine.privateTokens -= cells;
    this.callTokens -= cells;
  }

  private run(id: string, atSeconds: number, done: (atSeconds: number) => void): void {
    this.inFlight += 1;
    this.later(atSeconds, id, (at) => {
      this.inFlight -= 1;
      done(at);
    });
  }
}
