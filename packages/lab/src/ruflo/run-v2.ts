import { pathToFileURL } from "node:url";
import { gatewayExecutor, type DagWorkflow, type PromptParts, type WorkflowExecutorClass } from "@topas/receipt/ruflo";
import { answeringFetch } from "./answering-fetch.ts";
import { shortened, v2Executor } from "./packages.ts";
import type { Runner } from "./worker.ts";

/** What the executor draws anew for each run and writes into prompts. */
const RUN_IDS = /(workflow-exec|automation-session)-\d+-[a-z0-9]+/g;

/** The published v2 executor with its model call replaced by one call to the gateway. */
export async function openV2(packages: string): Promise<Runner> {
  const { WorkflowExecutor } = (await import(pathToFileURL(v2Executor(packages)).href)) as {
    readonly WorkflowExecutor: WorkflowExecutorClass;
  };
  return async ({ job, url }) => {
    if (job.kind !== "v2") throw new Error(`not a v2 job: ${job.id}`);
    const prompt = ({ prompt: written, task, parents }: PromptParts): string =>
      [
        `${job.markers[task.id] ?? ""} ${shortened(written.replaceAll(RUN_IDS, "$1"), job.promptFactor)}`,
        ...parents.map((parent) => `## Output of ${parent.task}\n${parent.output ?? "(this task failed)"}`),
      ].join("\n");
    const Executor = gatewayExecutor(WorkflowExecutor, {
      url,
      fetch: answeringFetch(globalThis.fetch, job.id, job.answers),
      systemFor: (agent) => job.systems[agent.id] ?? "",
      userFor: prompt,
      maxTokens: (task) => job.limits[task.id] ?? 256,
      body: { temperature: 0 },
      timeoutMs: job.timeoutMs,
    });
    const executor = new Executor();
    // The executor writes into the workflow it is given.
    const workflow = structuredClone(job.workflow) as unknown as DagWorkflow;
    const result = (await executor.executeWorkflow(workflow)) as {
      readonly success: boolean;
      readonly errors: readonly { readonly task?: string; readonly error?: unknown }[];
    };
    const [first] = result.errors;
    return {
      status: result.success ? "completed" : "failed",
      error: first === undefined ? null : `${first.task ?? "workflow"}: ${String(first.error)}`,
    };
  };
}
