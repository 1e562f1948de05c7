import type { JointEngine } from "./joint.ts";
import { becomeResident } from "./joint-prefill.ts";

/** Begins the copies that have room; the others wait for what is on its way out. */
export function startCopies(engine: JointEngine, atSeconds: number): void {
  const { machine, store, copies } = engine;
  for (const entry of copies.waiting.splice(0)) {
    const short = machine.roundUp(entry.tokens) - engine.freeTokens();
    if (short > 0 && !evictIdle(engine, short, atSeconds)) {
      copies.waiting.push(entry);
      continue;
    }
    store.resize(entry, entry.tokens);
    copies.entryIn(entry, atSeconds, (at) => {
      if (store.get(entry.id) !== entry) return;
      becomeResident(engine, entry, at);
      engine.listener.loaded(entry.id, 0, at);
    });
  }
}

/** Evicts what nobody uses in keep order; true when the shortage is covered. */
export function evictIdle(engine: JointEngine, shortTokens: number, atSeconds: number): boolean {
  const { store } = engine;
  const wanted = engine.freeTokens() + shortTokens;
  const known = new Set(engine.keep);
  for (const id of [...engine.keep, ...[...store.entries.keys()].filter((other) => !known.has(other))]) {
    if (engine.freeTokens() >= wanted) return true;
    const entry = store.get(id);
    if (entry === undefined || entry.users > 0 || entry.phase !== "resident") continue;
    store.remove(entry);
    engine.listener.evicted(id, store.host.has(id), atSeconds);
  }
  return engine.freeTokens() >= wanted;
}

/** Preempts as told, until `cells` are free. */
export function overflow(engine: JointEngine, cells: number, atSeconds: number): void {
  const before = engine.freeTokens();
  const victims = engine.listener.overflow(cells - before, atSeconds).filter((call) => engine.running.includes(call));
  if (victims.length === 0 && engine.running.length > 1) victims.push(engine.running.at(-1)!);
  if (victims.length === 0) throw new Error("out of KV cells and nobody can leave");
  for (const call of victims) {
    engine.leave(call, false);
    engine.machine.listener.preempted(call, atSeconds);
  }
}
