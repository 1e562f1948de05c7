import type { Call, CallSpec } from "./call.ts";
import type { CopyChannel } from "../model/transfer.ts";
import type { Machine } from "./machine.ts";

/** A virtual engine: calls go in, steps happen, listeners hear. `start` and `end` alternate. */
export interface VirtualEngine {
  readonly id: string;
  readonly machine: Machine;
  readonly channel: CopyChannel;
  submit(spec: CallSpec, atSeconds: number): Call;
  /** Composes the next step; its duration in seconds, or null when nothing can run now. */
  start(atSeconds: number): number | null;
  /** Applies the step that ends now. */
  end(atSeconds: number): void;
  /** Free tokens of the budget now. */
  freeTokens(): number;
  /** Broken rules of section 12; empty: fine. */
  check(): string[];
}
