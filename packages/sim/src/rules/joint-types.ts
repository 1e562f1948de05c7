import type { EntryId } from "@topas/core";
import type { Call } from "../engine/call.ts";
import type { HostTier } from "../model/transfer.ts";

export interface JointRules {
  /** False: SGLang's prefill-first steps. True: vLLM's mixed steps. */
  readonly mixed: boolean;
  readonly chunkTokens: number;
  readonly hostTier: HostTier;
  readonly hostRatio: number;
}

/** What only an engine under full control reports, and the one thing it asks: who leaves when it runs out of cells. */
export interface JointListener {
  loaded(entry: EntryId, computedTokens: number, atSeconds: number): void;
  loadFailed(entry: EntryId, atSeconds: number): void;
  evicted(entry: EntryId, keptOnHost: boolean, atSeconds: number): void;
  hostDropped(entry: EntryId, atSeconds: number): void;
  /** Our own preempt is carried out. */
  released(call: Call, keptTokens: number, atSeconds: number): void;
  overflow(shortTokens: number, atSeconds: number): readonly Call[];
  later(atSeconds: number, id: string, run: (atSeconds: number) => void): void;
}

/** How a call enters: its prefix entry, and the session entry it may continue. */
export interface JointEntry {
  readonly prefix: { readonly id: EntryId; readonly tokens: number } | null;
  readonly session: { readonly id: EntryId; readonly reusableTokens: number } | null;
}

/** Tokens a call reads at its first decode step. */
export function contextAtJoin(call: Call): number {
  return call.sharedTokens + call.heldAtJoin + 1;
}
