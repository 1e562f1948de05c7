import type { ReceiptContext } from "./encode.ts";
import { openTask, receiptOf, runStage, type AsyncStore, type Scope, type StageInfo, type TaskInfo } from "./scope.ts";
import { toolWait, type ToolWaitOptions } from "./tool-wait.ts";

export type { AsyncStore, Scope, StageInfo, TaskInfo } from "./scope.ts";
export type { ToolWaitOptions } from "./tool-wait.ts";

export interface Stages {
  /** Runs `body` as one task: the calls inside it carry its id. */
  readonly withTask: <R>(task: TaskInfo, body: () => R) => R;
  /** Runs `body` as one stage of the task in scope. Later calls of the task say whether it ended well. */
  readonly withStage: <R>(stage: StageInfo & { readonly stage: string }, body: () => R) => Promise<Awaited<R>>;
  /** Runs a tool, for its `execute`, and tells the gateway how long the stage is expected to wait for it. */
  readonly withToolWait: <R>(options: ToolWaitOptions, tool: () => R) => Promise<Awaited<R>>;
  /** The `getContext` for `topasFetch`; outside a task there is nothing to say. */
  readonly context: () => ReceiptContext | undefined;
}

/**
 * Stages for a framework that has no graph of its own: the application says where one begins. `store` is a new
 * `AsyncLocalStorage`, so parallel tasks and parallel stages stay apart.
 */
export function stages(store: AsyncStore<Scope>): Stages {
  const context = (): ReceiptContext | undefined => receiptOf(store.getStore());
  return {
    withTask: (task, body) => store.run(openTask(task), body),
    withStage: (stage, body) => runStage(store, stage, body),
    withToolWait: (options, tool) => toolWait(context(), options, tool),
    context,
  };
}
