import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { topasFetch } from "../client.ts";
import { parentsOf, type DagAgent, type DagTask, type DagWorkflow } from "./dag.ts";
import { beginDagRun, receiptOfTask, type DagRun } from "./dag-run.ts";
import { gatewayLink } from "./gateway-link.ts";

/** The published v2 `WorkflowExecutor`, as far as it is used here. */
export interface WorkflowExecutor {
  executionId: string;
  hooksEnabled: boolean;
  executeWorkflow(workflow: DagWorkflow, variables?: Record<string, unknown>): Promise<unknown>;
  executeTask(task: DagTask, workflow: DagWorkflow): Promise<unknown>;
  spawnClaudeInstance(agent: DagAgent, prompt: string, options?: unknown): Promise<unknown>;
  isClaudeAvailable(): Promise<boolean>;
}

export type WorkflowExecutorClass = new (options: Record<string, unknown>) => WorkflowExecutor;

export interface PromptParts {
  /** What the executor wrote for the task. */
  readonly prompt: string;
  readonly task: DagTask;
  readonly agent: DagAgent;
  readonly taskId: string;
  /** Outputs of the tasks before it; null: that task failed. */
  readonly parents: readonly { readonly task: string; readonly output: string | null }[];
}

export interface GatewayExecutorOptions {
  /** Of the gateway, without `/v1`. */
  readonly url: string;
  /** The agent's own text: the part of the prompt that all its calls share. */
  readonly systemFor: (agent: DagAgent) => string;
  /** Default: the executor's prompt, then the outputs of the tasks before it. */
  readonly userFor?: (parts: PromptParts) => string;
  readonly model?: string;
  readonly maxTokens?: number | ((task: DagTask) => number);
  /** Further members of the request body. */
  readonly body?: Readonly<Record<string, unknown>>;
  readonly apiKey?: string;
  /** Default 10 minutes: a held call is not a lost one. */
  readonly timeoutMs?: number;
  readonly fetch?: typeof fetch;
  /** Default true. False: the same calls without receipts. */
  readonly receipts?: boolean;
}

export interface GatewayWorkflowExecutor extends WorkflowExecutor {
  /** What each task of the last workflow said; null: its call failed. */
  readonly outputs: ReadonlyMap<string, string | null>;
}

/**
 * A subclass of the published v2 executor whose model call is one call to the gateway, with the whole graph in its receipt.
 * Planning, levels, failure policy and results stay the executor's own.
 */
export function gatewayExecutor(
  base: WorkflowExecutorClass,
  options: GatewayExecutorOptions,
): new (more?: Record<string, unknown>) => GatewayWorkflowExecutor {
  const send = options.fetch ?? globalThis.fetch;
  const link = gatewayLink(send);
  const receipts = options.receipts ?? process.env["TOPAS_RECEIPTS"] !== "off";

  return class GatewayExecutor extends base implements GatewayWorkflowExecutor {
    readonly #scope = new AsyncLocalStorage<{ readonly task: DagTask; readonly run: DagRun }>();
    #run: DagRun | null = null;
    #runs = 0;

    constructor(more: Record<string, unknown> = {}) {
      // Chaining counts calls that were never made; without Claude the executor sleeps; `ml` lifts its time limits (they mix units).
      super({
        logLevel: "quiet",
        ...more,
        enableClaude: true,
        nonInteractive: true,
        outputFormat: "stream-json",
        enableChaining: false,
        workflowType: "ml",
      });
      this.hooksEnabled = false;
    }

    get outputs(): ReadonlyMap<string, string | null> {
      return this.#run?.outputs ?? new Map();
    }

    override async isClaudeAvailable(): Promise<boolean> {
      return true;
    }

    override async executeWorkflow(workflow: DagWorkflow, variables?: Record<string, unknown>): Promise<unknown> {
      this.#runs += 1;
      const run = beginDagRun(this.#runs === 1 ? this.executionId : `${this.executionId}@${this.#runs}`, workflow);
      this.#run = run;
      const over = (ok: boolean): void => {
        if (receipts) link.finish(run.taskId, ok ? "done" : "cancelled");
      };
      try {
        const result = await super.executeWorkflow(workflow, variables);
        over((result as { success?: unknown } | null)?.success === true);
        return result;
      } catch (error) {
        over(false);
        throw error;
      }
    }

    override executeTask(task: DagTask, workflow: DagWorkflow): Promise<unknown> {
      const run = this.#run;
      if (run === null) return super.executeTask(task, workflow);
      const { timeout: _mixedUnits, ...rest } = task as DagTask & { timeout?: unknown };
      return this.#scope.run({ task: rest, run }, () => super.executeTask(rest, workflow));
    }

    override async spawnClaudeInstance(agent: DagAgent, prompt: string): Promise<unknown> {
      const child = Object.assign(new EventEmitter(), { pid: 0, killed: true, kill: () => true });
      const at = this.#scope.getStore();
      const call =
        at === undefined ? Promise.reject(new Error("no task in this scope")) : callModel(agent, prompt, at.task, at.run);
      call.then(
        () => child.emit("exit", 0),
        (error: unknown) => child.emit("error", error),
      );
      return child;
    }
  };

  async function callModel(agent: DagAgent, prompt: string, task: DagTask, run: DagRun): Promise<void> {
    try {
      run.outputs.set(task.id, await answerOf(agent, prompt, task, run));
    } catch (error) {
      run.outputs.set(task.id, null);
      throw error;
    }
  }

  async function answerOf(agent: DagAgent, prompt: string, task: DagTask, run: DagRun): Promise<string> {
    const parents = parentsOf(run.workflow, task).map((id) => ({ task: id, output: run.outputs.get(id) ?? null }));
    const parts: PromptParts = { prompt, task, agent, taskId: run.taskId, parents };
    const maxTokens = typeof options.maxTokens === "function" ? options.maxTokens(task) : (options.maxTokens ?? 256);
    const body = {
      model: options.model ?? "default",
      max_tokens: maxTokens,
      ...options.body,
      messages: [
        { role: "system", content: options.systemFor(agent) },
        { role: "user", content: (options.userFor ?? withParents)(parts) },
      ],
    };
    const headers = new Headers({ "content-type": "application/json" });
    if (options.apiKey !== undefined) headers.set("authorization", `Bearer ${options.apiKey}`);
    const url = `${options.url.replace(/\/+$/, "")}/v1/chat/completions`;
    const post = receipts ? topasFetch(send, () => receiptOfTask(run, task, body)) : send;
    const signal = AbortSignal.timeout(options.timeoutMs ?? 600_000);
    const response = await post(url, { method: "POST", headers, body: JSON.stringify(body), signal });
    link.met(url, headers, response);
    if (!response.ok) throw new Error(`the gateway answered ${response.status}: ${(await response.text()).slice(0, 400)}`);
    const answer = (await response.json()) as { choices?: readonly { message?: { content?: string | null } }[] };
    return answer.choices?.[0]?.message?.content ?? "";
  }
}

function withParents({ prompt, parents }: PromptParts): string {
  return [prompt, ...parents.map(({ task, output }) => `## Output of ${task}\n${output ?? "(this task failed)"}`)].join("\n\n");
}
