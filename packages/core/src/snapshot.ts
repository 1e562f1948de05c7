import type { EntryId } from "./events.ts";
import { freeTokens, roomTokens } from "./ledger.ts";
import { generatedTokens, type EntryPhase, type State } from "./state.ts";

export interface LedgerSnapshot {
  readonly budgetTokens: number | null;
  /** null when B is unknown. */
  readonly freeTokens: number | null;
  readonly roomTokens: number | null;
  readonly residentTokens: number;
  readonly runningTokens: number;
  readonly promisedTokens: number;
  readonly pinnedTokens: number;
  readonly pendingFreeTokens: number;
}

/** Both ledgers, in tokens. */
export function ledgerSnapshot(state: State): LedgerSnapshot {
  const { ledger } = state;
  const known = ledger.budgetTokens !== null;
  return {
    budgetTokens: ledger.budgetTokens,
    freeTokens: known ? freeTokens(state) : null,
    roomTokens: known ? roomTokens(state) : null,
    residentTokens: ledger.residentPrefix + ledger.residentSession,
    runningTokens: ledger.runningKv,
    promisedTokens: ledger.promised,
    pinnedTokens: ledger.pinned,
    pendingFreeTokens: ledger.pendingFree,
  };
}

export interface RequestSnapshot {
  readonly id: string;
  readonly task: string;
  readonly stage: string;
  readonly agent: string;
  readonly readySeconds: number;
  readonly admittedSeconds: number | null;
  readonly promisedTokens: number;
  readonly kvTokens: number;
  readonly generatedTokens: number;
  readonly creditSeconds: number;
  readonly preemptions: number;
}

/** Live requests of one list: waiting in queue order, running in order of admission. */
export function requestSnapshots(state: State, list: "waiting" | "running"): RequestSnapshot[] {
  return [...state[list].values()].map((request) => ({
    id: request.spec.id,
    task: request.spec.task,
    stage: request.spec.stage,
    agent: request.spec.agent,
    readySeconds: request.readySeconds,
    admittedSeconds: request.admittedSeconds,
    promisedTokens: request.promisedTokens,
    kvTokens: request.cells,
    generatedTokens: generatedTokens(request),
    creditSeconds: request.creditSeconds,
    preemptions: request.preemptions,
  }));
}

export interface EntrySnapshot {
  readonly id: EntryId;
  readonly tokens: number;
  readonly phase: EntryPhase;
  readonly users: number;
  readonly onHost: boolean;
}

export function entrySnapshots(state: State): EntrySnapshot[] {
  return [...state.entries.values()].map(({ id, tokens, phase, users, onHost }) => ({ id, tokens, phase, users, onHost }));
}
