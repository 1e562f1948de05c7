import type { ReceiptContext } from "./encode.ts";
import { openTask, receiptOf, type AsyncStore, type Scope, type TaskInfo } from "./scope.ts";
import { toolWait, type ToolWaitOptions } from "./tool-wait.ts";

export type { AsyncStore, Scope, TaskInfo } from "./scope.ts";
export type { ToolWaitOptions } from "./tool-wait.ts";

/** The part of the SDK's `Model` that calls. */
interface Calls {
  getResponse(request: never): Promise<unknown>;
  getStreamedResponse(request: never): AsyncIterable<unknown>;
}

export interface AgentTasks {
  /** Runs `body`, one or more `run(…)`, as one task. */
  readonly withTask: <R>(task: TaskInfo, body: () => R) => R;
  /** The model of one agent, `new Agent({ name, model: modelOf(name, model) })`: its calls carry the agent's name. */
  readonly modelOf: <M extends Calls>(agent: string, model: M) => M;
  /** Runs a tool of `agent`, for its `execute`, and tells the gateway how long the agent is expected to wait for it. */
  readonly withToolWait: <R>(agent: string, options: ToolWaitOptions, tool: () => R) => Promise<Awaited<R>>;
  /** The `getContext` for `topasFetch`; outside a task there is nothing to say. */
  readonly context: () => ReceiptContext | undefined;
}

/**
 * Task and agent of every call of the OpenAI Agents SDK: handoffs, agents used as tools and parallel runs included. Handoffs
 * are decided by the model, so there is no graph: the stage is the agent that calls. `store` is a new `AsyncLocalStorage`,
 * because the SDK's own trace is absent when tracing is off; its hooks and `callModelInputFilter` run in an async scope that
 * ends before the call, so the agent's model says who calls.
 */
export function agentTasks(store: AsyncStore<Scope>): AgentTasks {
  const context = (): ReceiptContext | undefined => receiptOf(store.getStore());
  const as = <R>(agent: string, body: () => R): R => {
    const scope = store.getStore();
    return scope === undefined ? body() : store.run({ ...scope, at: { stage: agent, agent } }, body);
  };
  return {
    withTask: (task, body) => store.run(openTask(task), body),
    modelOf: (agent, model) => {
      const own: Calls = {
        getResponse: (request) => as(agent, () => model.getResponse(request)),
        getStreamedResponse: (request) => {
          const answer = as(agent, () => model.getStreamedResponse(request));
          return { [Symbol.asyncIterator]: () => inScope(answer[Symbol.asyncIterator](), (body) => as(agent, body)) };
        },
      };
      return new Proxy(model, {
        get(target, name) {
          if (Object.hasOwn(own, name)) return own[name as keyof Calls];
          // The target's own private members are out of a proxy's reach, so its methods keep their `this`.
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? (value.bind(target) as unknown) : value;
        },
      });
    },
    withToolWait: (agent, options, tool) => as(agent, () => toolWait(context(), options, tool)),
    context,
  };
}

/** A stream sends its call when it is first read, so every step of it runs in the scope. */
function inScope<T>(steps: AsyncIterator<T>, run: <R>(body: () => R) => R): AsyncIterator<T> {
  return {
    next: () => run(() => steps.next()),
    return: (value?: unknown) =>
      run(() => steps.return?.(value) ?? Promise.resolve({ done: true as const, value: value as undefined })),
  };
}
