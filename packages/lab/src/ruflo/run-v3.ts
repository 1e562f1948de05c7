import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { answeringFetch } from "./answering-fetch.ts";
import { v3Root } from "./packages.ts";
import type { Runner } from "./worker.ts";

interface Tool {
  readonly name: string;
  readonly handler: (input: Record<string, unknown>) => Promise<Record<string, unknown>>;
}

/** The published v3 engine through its own tools: agents are spawned, the workflow is created and executed, nothing is replaced. */
export async function openV3(packages: string): Promise<Runner> {
  const load = (file: string): Promise<Record<string, unknown>> =>
    import(pathToFileURL(join(v3Root(packages), "dist", "src", "mcp-tools", file)).href);
  const { workflowTools } = await load("workflow-tools.js");
  const { agentTools } = await load("agent-tools.js");
  const tools = [...(workflowTools as Tool[]), ...(agentTools as Tool[])];
  const send = globalThis.fetch;

  const call = async (name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> => {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) throw new Error(`this Ruflo has no tool ${name}`);
    const result = await tool.handler(input);
    if (result["success"] === false) throw new Error(`${name}: ${String(result["error"])}`);
    return result;
  };

  return async ({ job, url }) => {
    if (job.kind !== "v3") throw new Error(`not a v3 job: ${job.id}`);
    process.env["OPENROUTER_BASE_URL"] = url;
    globalThis.fetch = answeringFetch(send, job.id, job.answers);
    try {
      for (const agentId of job.agents)
        await call("agent_spawn", { agentType: "coder", agentId, config: { model: "default", provider: "openrouter" } });
      const { workflowId } = await call("workflow_create", {
        name: job.name,
        steps: job.steps,
        variables: { lastStepOutput: "" },
      });
      const result = await call("workflow_execute", { workflowId });
      const { status, error } = result;
      return { status: typeof status === "string" ? status : "failed", error: typeof error === "string" ? error : null };
    } finally {
      globalThis.fetch = send;
    }
  };
}
