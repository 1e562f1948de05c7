import type { JointEngine } from "./joint.ts";
import type { PrefillChunk } from "./joint-plan.ts";
import type { KvEntry } from "./entries.ts";

/** Adds the chunks to the step being composed and takes their cells. */
export function beginPrefill({ machine, store, entryOf }: JointEngine, chunks: readonly PrefillChunk[]): void {
  for (const { call, prefixTokens, ownTokens } of chunks) {
    const entry = store.get(entryOf.get(call)!.prefix?.id ?? null);
    if (prefixTokens > 0) {
      machine.addChunk(prefixTokens, entry!.filled);
      if (ownTokens > 0) machine.load.chunks -= 1;
      store.resize(entry!, entry!.filled + prefixTokens);
    }
    if (ownTokens > 0) machine.addChunk(ownTokens, call.sharedTokens + call.filled);
    machine.privateTokens += machine.roundUp(call.filled + ownTokens) - machine.roundUp(call.filled);
    call.inFlight = ownTokens;
  }
}

/** The chunk is computed: its prefix may be whole, and its call may have its first token. */
export function endPrefill(engine: JointEngine, { call, prefixTokens, ownTokens }: PrefillChunk, atSeconds: number): void {
  const { machine, store } = engine;
  call.inFlight = 0;
  if (prefixTokens > 0) {
    const entry = store.get(engine.entryOf.get(call)!.prefix!.id)!;
    entry.filled += prefixTokens;
    if (entry.filled >= entry.tokens) {
      becomeResident(engine, entry, atSeconds);
      engine.listener.loaded(entry.id, entry.tokens, atSeconds);
    }
  }
  call.filled += ownTokens;
  if (ownTokens === 0 || call.filled < call.target) return;
  machine.prefillToken(call, atSeconds);
  if (call.generated >= call.outputTokens) engine.finish(call, atSeconds);
  else machine.decode.join(call, call.filled, call.sharedTokens + call.filled + 1);
}

/** The entry can be used; with a host tier it is written through (SGLang's HiCache). */
export function becomeResident(
  { rules, store, channel, machine, listener }: JointEngine,
  entry: KvEntry,
  atSeconds: number,
): void {
  entry.phase = "resident";
  entry.filler = null;
  if (rules.hostTier === "none" || store.touchHost(entry.id)) return;
  channel.copy(entry.tokens, "toHost", atSeconds);
  const capacity = rules.hostRatio * machine.budgetTokens;
  for (const id of store.keepOnHost(entry, capacity)) if (!store.entries.has(id)) listener.hostDropped(id, atSeconds);
}
