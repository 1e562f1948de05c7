import type { Graph } from "@topas/core";
import type { ScheduledCall } from "../scheduler.ts";

/** Lifetimes of tasks as the gateway sees them: open calls, sessions to drop, idle expiry, tombstones (K40, K70). */
export interface OpenTask {
  readonly tenant: string;
  readonly id: string;
  readonly calls: Set<string>;
  readonly sessions: Set<string>;
  /** Names its calls have given their stages. */
  readonly stages: Set<string>;
  /** The graph last told to the scheduler: told again only when it changes. */
  graph: Graph | null;
  readonly ended: Set<string>;
  lastSeenSeconds: number;
  /** The client said the last call has been sent: the task ends with it. */
  final: boolean;
}

/** Most names one task may bring: a loop that counts its rounds in them must not fill the memory or slow the scheduler down. */
const MOST_STAGES = 256;
const MOST_SESSIONS = 256;

/** The call as its task has room for it: with too many stages it is of stage `*`, with too many sessions it keeps none. */
export function withinTask(task: OpenTask, call: ScheduledCall): ScheduledCall {
  const { stage, session } = call.identity;
  const known = task.stages.has(stage) || task.stages.size < MOST_STAGES;
  const kept = session === null || task.sessions.has(session) || task.sessions.size < MOST_SESSIONS;
  if (known) task.stages.add(stage);
  if (kept && session !== null) task.sessions.add(session);
  if (known && kept) return call;
  const declared = task.graph?.stages.some(({ id }) => id === stage) === true;
  return { ...call, identity: { ...call.identity, stage: known || declared ? stage : "*", session: kept ? session : null } };
}

export class TaskBook {
  private readonly open = new Map<string, OpenTask>();
  private readonly tombstones = new Map<string, number>();
  private readonly tombstoneSeconds: number;
  constructor(tombstoneSeconds = 600) {
    this.tombstoneSeconds = tombstoneSeconds;
  }

  get size(): number {
    return this.open.size;
  }

  get(task: string): OpenTask | undefined {
    return this.open.get(task);
  }

  /** The open task, made if new. */
  touch(task: string, tenant: string, nowSeconds: number): { task: OpenTask; isNew: boolean } {
    const known = this.open.get(task);
    if (known !== undefined) {
      known.lastSeenSeconds = nowSeconds;
      return { task: known, isNew: false };
    }
    const made: OpenTask = {
      tenant,
      id: task,
      calls: new Set(),
      sessions: new Set(),
      stages: new Set(),
      graph: null,
      ended: new Set(),
      lastSeenSeconds: nowSeconds,
      final: false,
    };
    this.open.set(task, made);
    return { task: made, isNew: true };
  }

  close(task: string): OpenTask | undefined {
    const known = this.open.get(task);
    this.open.delete(task);
    return known;
  }

  /** A cancelled task refuses late calls for a while. */
  bury(task: string, nowSeconds: number): void {
    this.tombstones.set(task, nowSeconds + this.tombstoneSeconds);
  }

  isBuried(task: string, nowSeconds: number): boolean {
    const until = this.tombstones.get(task);
    if (until === undefined) return false;
    if (until > nowSeconds) return true;
    this.tombstones.delete(task);
    return false;
  }

  /** Tasks with no open call that nobody has mentioned for `idleSeconds`. */
  idle(nowSeconds: number, idleSeconds: number): OpenTask[] {
    for (const [task, until] of this.tombstones) if (until <= nowSeconds) this.tombstones.delete(task);
    return [...this.open.values()].filter((t) => t.calls.size === 0 && nowSeconds - t.lastSeenSeconds >= idleSeconds);
  }
}
