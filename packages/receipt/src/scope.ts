import type { ReceiptContext } from "./encode.ts";

/** What is needed of Node's `AsyncLocalStorage`; pass a new one, this package imports none. */
export interface AsyncStore<T> {
  getStore(): T | undefined;
  run<R>(value: T, body: () => R): R;
  enterWith(value: T): void;
}

/** A run of a workflow. `arrival` is the moment it is opened unless given. */
export type TaskInfo = Pick<ReceiptContext, "taskId" | "workflowId" | "parentTaskId" | "arrival" | "graph">;
/** The part of a task whose calls are being made. */
export interface StageInfo {
  readonly stage?: string;
  readonly agent?: string;
  /** The next call is the last of the task. */
  readonly final?: boolean;
  readonly sessionKey?: string;
}

/** What an async scope holds: the task, shared by all its stages, and the stage. */
export interface Scope {
  readonly task: TaskInfo;
  readonly ended: Map<string, "done" | "failed">;
  readonly sent: { revision: number };
  readonly at: StageInfo;
}

export function openTask(task: TaskInfo): Scope {
  return { task: { arrival: Date.now(), ...task }, ended: new Map(), sent: { revision: 0 }, at: {} };
}

/** Runs `body` as one stage of the task in scope, and remembers how it ended. Without a task it only runs `body`. */
export async function runStage<R>(store: AsyncStore<Scope>, at: StageInfo, body: () => R): Promise<Awaited<R>> {
  const scope = store.getStore();
  if (scope === undefined) return await body();
  const { stage } = at;
  if (stage !== undefined) scope.ended.delete(stage);
  const end = (state: "done" | "failed"): void => {
    if (stage !== undefined && !repeats(scope.task, stage)) scope.ended.set(stage, state);
  };
  try {
    const result = await store.run({ ...scope, at }, body);
    end("done");
    return result;
  } catch (error) {
    end("failed");
    throw error;
  }
}

/** A stage of a declared loop comes back: its end says nothing yet. */
function repeats(task: TaskInfo, stage: string): boolean {
  return task.graph?.loops?.some((loop) => loop.stages.includes(stage)) ?? false;
}

/**
 * The receipt of a call made now. Its revision is the time in milliseconds, or one more than the last: it rises within a task
 * that is opened again, or by another process, as well.
 */
export function receiptOf(scope: Scope | undefined): ReceiptContext | undefined {
  if (scope === undefined) return undefined;
  const status = Array.from(scope.ended, ([stage, state]) => ({ stage, state }));
  const revision = Math.max(Date.now(), scope.sent.revision + 1);
  scope.sent.revision = revision;
  return { ...scope.task, revision, ...(status.length > 0 ? { status } : {}), ...scope.at };
}
