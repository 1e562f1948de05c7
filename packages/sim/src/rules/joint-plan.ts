import type { Call } from "../engine/call.ts";
import type { JointEngine } from "./joint.ts";

export interface PrefillChunk {
  readonly call: Call;
  /** Tokens of its prefix entry, for the one call that fills it. */
  readonly prefixTokens: number;
  readonly ownTokens: number;
}

export interface PrefillPlan {
  readonly chunks: readonly PrefillChunk[];
  readonly swapIns: readonly Call[];
  readonly cells: number;
}

/** Prompts of the next step in order of admission. Who waits for a prefix that another fills or copies, waits. */
export function planPrefill(engine: JointEngine): PrefillPlan {
  const { machine, rules, store } = engine;
  const chunks: PrefillChunk[] = [];
  const swapIns: Call[] = [];
  let left = rules.chunkTokens - (rules.mixed ? machine.decode.count : 0);
  let cells = 0;
  if (machine.decode.count === engine.running.length) return { chunks, swapIns, cells };
  for (const call of engine.running) {
    if (call.phase === "decode") continue;
    const entry = store.get(engine.entryOf.get(call)!.prefix?.id ?? null);
    if (entry?.phase === "copying") continue;
    if (call.phase === "swapIn" && call.inFlight > 0) continue;
    if (entry?.phase === "filling") {
      entry.filler ??= call;
      if (entry.filler !== call) continue;
    }
    const missing = entry === undefined || entry.phase === "resident" ? 0 : entry.tokens - entry.filled;
    if (call.phase === "swapIn" && missing === 0) {
      swapIns.push(call);
      cells += machine.roundUp(call.filled);
      continue;
    }
    if (left <= 0) continue;
    const prefixTokens = Math.min(missing, left);
    left -= prefixTokens;
    const ownTokens = call.phase === "swapIn" || prefixTokens < missing ? 0 : Math.min(call.target - call.filled, left);
    left -= ownTokens;
    if (prefixTokens + ownTokens === 0) continue;
    if (prefixTokens > 0) cells += machine.roundUp(entry!.filled + prefixTokens) - entry!.cells;
    cells += machine.roundUp(call.filled + ownTokens) - machine.roundUp(call.filled);
    chunks.push({ call, prefixTokens, ownTokens });
  }
  return { chunks, swapIns, cells };
}
