import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { encodeReceiptHeader } from "../encode.ts";
import { RECEIPT_HEADER } from "../names.ts";
import { findEngine, WORKFLOW_TOOLS } from "./find-engine.ts";
import { DEFAULT_LOOP, installReceipts, type RufloReceipts, type RufloReceiptsStats } from "./install.ts";
import { makePlan } from "./plan.ts";
import { prefixId } from "./prefix.ts";
import { newRun, receiptOfCall } from "./run.ts";

/** What the preload does: reads the environment, finds the engine, installs. Never throws; says once on stderr why it is off. */
export async function installFromEnvironment(
  env: Readonly<Record<string, string | undefined>> = process.env,
  log: (message: string) => void = (message) => console.error(`topas receipts: ${message}`),
): Promise<RufloReceipts | null> {
  if (env["TOPAS_RECEIPTS"] === "off") return null;
  try {
    const gateway = (): string | undefined => env["TOPAS_URL"] ?? env["OPENROUTER_BASE_URL"] ?? env["OLLAMA_BASE_URL"];
    const root = findEngine({ root: env["RUFLO_CLI_ROOT"], program: process.argv[1], cwd: process.cwd() });
    if (root === null) return off(log, "off, no Ruflo engine found: set RUFLO_CLI_ROOT to the folder of @claude-flow/cli");
    const load = (file: string): Promise<unknown> => import(pathToFileURL(join(root, file)).href);
    const tools = await load(WORKFLOW_TOOLS);
    const types = await load("dist/src/mcp-tools/types.js");
    warmUp();
    const installed = installReceipts(tools, types, { gateway, log });
    if (env["TOPAS_RECEIPTS"] === "stats") process.once("exit", () => log(statsLine(installed.stats())));
    return installed;
  } catch (error) {
    return off(log, `off, ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Times over which the code of a receipt is exercised before the first call: then it no longer runs cold. Some 25 ms in all. */
const WARM_UPS = 20;

function warmUp(): void {
  const plan = makePlan([{ stepId: "step-1", type: "task" }], { loop: DEFAULT_LOOP });
  const run = newRun({ taskId: "", storedAs: "", workflowId: "", declares: false, plan, start: 0, arrivalMs: Date.now() });
  const body = JSON.stringify({ messages: [{ role: "system", content: "" }] });
  for (let i = 0; i < WARM_UPS; i++) {
    const id = prefixId(JSON.parse(body)) ?? "";
    void new Headers([[RECEIPT_HEADER, encodeReceiptHeader(receiptOfCall(run, 0, { id }, Date.now()))]]);
  }
}

/** `5 calls, 5 receipts; 0.21 ms a call, 0.80 ms at worst`. */
function statsLine({ calls, receipts, totalMs, worstMs }: RufloReceiptsStats): string {
  const mean = calls === 0 ? 0 : totalMs / calls;
  return `${calls} calls, ${receipts} receipts; ${mean.toFixed(2)} ms a call, ${worstMs.toFixed(2)} ms at worst`;
}

function off(log: (message: string) => void, message: string): null {
  log(message);
  return null;
}
