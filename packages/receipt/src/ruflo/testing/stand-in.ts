/** Engines of the published shapes, for tests: the same members, files and order of events, none of the published code. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { DagAgent, DagTask, DagWorkflow } from "../dag.ts";
import type { Tool } from "../engine.ts";
import type { WorkflowExecutor } from "../gateway-executor.ts";
import type { Step } from "../steps.ts";

interface Stored {
  name: string;
  status: string;
  steps: (Step & { status?: string; startedAt?: string })[];
  variables: Record<string, unknown>;
}

export interface StandIn {
  readonly workflowModule: { readonly workflowTools: Tool[] };
  readonly typesModule: { readonly getProjectCwd: () => string };
  readonly create: (name: string, steps: readonly Omit<Step, "stepId">[]) => string;
  readonly execute: (workflowId: string, more?: Record<string, unknown>) => Promise<Record<string, unknown>>;
}

/** The v3 engine: one step at a time, saved before and after each, the call sent in the same turn as the save. */
export function standInV3(folder: string, url: string): StandIn {
  const file = join(folder, ".claude-flow", "workflows", "store.json");
  mkdirSync(join(folder, ".claude-flow", "workflows"), { recursive: true });
  let made = 0;
  const load = (): { workflows: Record<string, Stored> } => {
    try {
      return JSON.parse(readFileSync(file, "utf8")) as { workflows: Record<string, Stored> };
    } catch {
      return { workflows: {} };
    }
  };
  const save = (store: object): void => writeFileSync(file, JSON.stringify(store, null, 2));

  const handler: Tool["handler"] = async (input) => {
    const store = load();
    const workflow = store.workflows[String(input["workflowId"])];
    if (workflow === undefined) return { error: "Workflow not found" };
    Object.assign(workflow.variables, input["variables"]);
    let completed = 0;
    let at = typeof input["startFromStep"] === "number" ? input["startFromStep"] : 0;
    while (at < workflow.steps.length) {
      const step = workflow.steps[at]!;
      step.status = "running";
      step.startedAt = new Date().toISOString();
      save(store);
      try {
        if (step.type === "task") workflow.variables["lastStepOutput"] = await callModel(url, step, workflow.variables);
        if (step.type === "wait") await sleep(Number(step.config?.["ms"] ?? 0));
        step.status = "completed";
      } catch (error) {
        step.status = "failed";
        save(store);
        return { status: "failed", error: error instanceof Error ? error.message : String(error), stepsCompleted: completed };
      }
      completed += 1;
      at = step.type === "condition" ? jumpOf(workflow, at) : at + 1;
      save(store);
    }
    return { status: "completed", stepsCompleted: completed };
  };
  const tools: Tool[] = [
    { name: "workflow_create", handler: async () => ({}) },
    { name: "workflow_execute", handler },
  ];
  return {
    workflowModule: { workflowTools: tools },
    typesModule: { getProjectCwd: () => folder },
    create: (name, steps) => {
      const store = load();
      const id = `workflow-${(made += 1)}-${name}`;
      const numbered = steps.map((step, index) => ({ ...step, stepId: `step-${index + 1}`, status: "pending" }));
      store.workflows[id] = { name, status: "ready", steps: numbered, variables: { lastStepOutput: "" } };
      save(store);
      return id;
    },
    execute: async (workflowId, more) => (await tools[1]!.handler({ workflowId, ...more })) as Record<string, unknown>,
  };
}

async function callModel(url: string, step: Step, variables: Record<string, unknown>): Promise<string> {
  const prompt = textOf(step.config?.["prompt"] ?? step.name).replaceAll(
    "{{lastStepOutput}}",
    String(variables["lastStepOutput"]),
  );
  const messages = [
    { role: "system", content: step.config?.["systemPrompt"] ?? "You are an agent." },
    { role: "user", content: prompt },
  ];
  const timeoutMs = Number(step.config?.["timeoutMs"] ?? 60_000);
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer local", "content-type": "application/json" },
    body: JSON.stringify({ model: "default", max_tokens: Number(step.config?.["maxTokens"] ?? 8), temperature: 0, messages }),
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (!response.ok) throw new Error(`API error ${response.status}`);
  const body = (await response.json()) as { choices: [{ message: { content: string } }] };
  return body.choices[0].message.content;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function jumpOf(workflow: Stored, at: number): number {
  const { when, thenStep, elseStep } = workflow.steps[at]!.config ?? {};
  const literal = /=== '([^']*)'/.exec(String(when))?.[1];
  const target = workflow.variables["lastStepOutput"] === literal ? thenStep : elseStep;
  return typeof target === "number" ? target : at + 1;
}

/** The v2 executor: levels one after another, each settled before the next, children of a failed task run unless `fail-fast`. */
export class StandInExecutor implements WorkflowExecutor {
  executionId = `workflow-exec-${Math.random().toString(36).slice(2)}`;
  hooksEnabled = true;
  readonly options: Record<string, unknown>;

  constructor(options: Record<string, unknown>) {
    this.options = options;
  }

  async executeWorkflow(workflow: DagWorkflow): Promise<{ success: boolean; completedTasks: number; failedTasks: number }> {
    if (!(await this.isClaudeAvailable())) throw new Error("Claude CLI not found");
    const done = new Set<string>();
    const counts = { completedTasks: 0, failedTasks: 0 };
    while (done.size < workflow.tasks.length) {
      const parents = (task: DagTask): readonly string[] => task.depends ?? workflow.dependencies?.[task.id] ?? [];
      const level = workflow.tasks.filter((task) => !done.has(task.id) && parents(task).every((parent) => done.has(parent)));
      const results = await Promise.all(level.map((task) => this.executeTask(task, workflow)));
      for (const task of level) done.add(task.id);
      for (const { success } of results) counts[success ? "completedTasks" : "failedTasks"] += 1;
      if (counts.failedTasks > 0 && workflow.settings?.failurePolicy === "fail-fast") break;
    }
    return { success: counts.failedTasks === 0, ...counts };
  }

  async executeTask(task: DagTask, workflow: DagWorkflow): Promise<{ success: boolean; error?: unknown }> {
    try {
      const agent = workflow.agents?.find(({ id }) => id === task.assignTo) ?? { id: task.assignTo };
      const child = (await this.spawnClaudeInstance(agent, `Do ${task.id}`)) as NodeJS.EventEmitter;
      await new Promise<void>((resolve, reject) => {
        child.on("exit", (code: number) => (code === 0 ? resolve() : reject(new Error(`Process exited with code ${code}`))));
        child.on("error", reject);
      });
      return { success: true };
    } catch (error) {
      return { success: false, error };
    }
  }

  async spawnClaudeInstance(_agent: DagAgent, _prompt: string): Promise<unknown> {
    throw new Error("there is no Claude here");
  }

  async isClaudeAvailable(): Promise<boolean> {
    return false;
  }
}
