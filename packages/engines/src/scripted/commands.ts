/** Residency and preemption commands of the scripted engine: carried out at once, one outcome each. */
import type { EntryId } from "@topas/core";
import type { CommandOutcome, EngineCommand } from "../engine.ts";
import type { Job } from "./job.ts";
import { beginLoad, evictFor } from "./residency.ts";
import type { ScriptedState } from "./state.ts";
import { SCRIPTED_KV_BYTES } from "./state.ts";

const say = (outcome: CommandOutcome["outcome"], tokens = 0, moved = 0): CommandOutcome => ({
  outcome,
  tokens,
  bytes: moved * SCRIPTED_KV_BYTES,
  ms: 0,
});

export function carryOut(state: ScriptedState, command: EngineCommand): CommandOutcome | Promise<CommandOutcome> {
  switch (command.op) {
    case "preempt":
      return preempt(state, state.jobs.get(command.id), command.keep === "swap");
    case "resume":
      return resume(state, state.jobs.get(command.id));
    case "evict":
      return evict(state, command.entry, command.keepHost);
    case "load":
      return load(state, command.entry);
    case "dropHost":
      if (!state.ledger.host.delete(command.entry)) return say("unknownId");
      state.emit({ kind: "hostDropped", entry: command.entry });
      return say("enforced");
    case "rank":
      state.order = [...command.order];
      return say("enforced");
  }
}

function preempt(state: ScriptedState, job: Job | undefined, swap: boolean): CommandOutcome {
  if (job === undefined || job.state === "preempted") return say("unknownId");
  const tokens = job.cells;
  // No room on the host: the cells are needed all the same, so the call will compute them again.
  const kept = swap && tokens <= state.ledger.hostFree() ? tokens : 0;
  state.suspend(job);
  job.state = "preempted";
  if (kept > 0) state.ledger.swapped.set(job.call.id, kept);
  state.emit({ kind: "preempted", request: job.call.id, by: "us", keptTokens: kept, bytes: kept * SCRIPTED_KV_BYTES });
  return say("enforced", tokens, kept);
}

/** Goes to the head of the queue and runs as soon as it fits and its prefix is there. */
function resume(state: ScriptedState, job: Job | undefined): CommandOutcome {
  if (job === undefined || job.state !== "preempted") return say("unknownId");
  const kept = state.ledger.swapped.get(job.call.id) ?? 0;
  job.state = "queued";
  state.queue.unshift(job);
  return say("enforced", job.target, kept);
}

function evict(state: ScriptedState, id: EntryId, keepHost: boolean): CommandOutcome {
  const { ledger } = state;
  const prefix = ledger.prefixes.get(id);
  const session = ledger.sessions.get(id);
  if (prefix === undefined && session === undefined) return say("unknownId");
  // Cells of a running call cannot leave, and a load that has begun is somebody's wait.
  if (prefix !== undefined && (prefix.users > 0 || prefix.filled < prefix.tokens)) return say("unsupported");
  const { tokens, moved } = state.evict(id, keepHost);
  return say("enforced", tokens, moved);
}

/** Answered when calls can use the entry, or when it is clear that they will not. */
function load(state: ScriptedState, id: EntryId): CommandOutcome | Promise<CommandOutcome> {
  const { ledger } = state;
  const prefix = ledger.prefixes.get(id);
  if (prefix !== undefined && prefix.filled < prefix.tokens) return loaded(state, id, prefix.tokens);
  const resident = prefix?.tokens ?? ledger.sessions.get(id)?.cells;
  if (resident !== undefined) return say("enforced", resident);
  const copy = ledger.host.get(id);
  const session = copy?.kind === "session" ? copy.session : null;
  const tokens = session?.cells ?? (copy?.kind === "prefix" ? copy.tokens : state.known.get(id));
  if (tokens === undefined) return say("unknownId");
  if (!evictFor(state, tokens, [id])) return say("noRoom");
  if (session !== null) {
    ledger.addSession(id, session);
    state.emit({ kind: "loaded", entry: id, tokens, computedTokens: 0, bytes: tokens * SCRIPTED_KV_BYTES, ms: 0 });
    return say("enforced", tokens, tokens);
  }
  return beginLoad(state, id, tokens, null) ? say("enforced", tokens, tokens) : loaded(state, id, tokens);
}

async function loaded(state: ScriptedState, id: EntryId, tokens: number): Promise<CommandOutcome> {
  return (await state.whenResident(id)) ? say("enforced", tokens) : say("noRoom");
}
