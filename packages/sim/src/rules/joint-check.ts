import type { EntryId } from "@topas/core";
import type { JointEngine } from "./joint.ts";

/** Books of a controlled engine recomputed from its calls; `decoding`: every decoding call has a token in flight. */
export function checkJoint(engine: JointEngine, decoding: boolean): string[] {
  const { machine, store, copies } = engine;
  const broken = store.check();
  let held = copies.callTokens;
  const users = new Map<EntryId, number>();
  for (const call of engine.running) {
    const growing = call.phase === "decode" ? Number(decoding) : call.inFlight;
    if (call.phase !== "swapIn") held += machine.roundUp(machine.decode.heldOf(call) + growing);
    const prefix = engine.entryOf.get(call)?.prefix ?? null;
    if (prefix !== null) users.set(prefix.id, (users.get(prefix.id) ?? 0) + 1);
  }
  if (held !== machine.privateTokens) broken.push(`private tokens are ${machine.privateTokens}, recomputed ${held}`);
  for (const { id, users: known } of store.entries.values())
    if (known !== (users.get(id) ?? 0)) broken.push(`entry ${id} has ${known} users, counted ${users.get(id) ?? 0}`);
  for (const id of users.keys()) if (!store.entries.has(id)) broken.push(`entry ${id} is used but gone`);
  if (engine.freeTokens() < 0) broken.push(`free is ${engine.freeTokens()}`);
  return broken;
}
