import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";
import { topasFetch } from "../client.ts";
import { detect, readWorkflow, type RufloEngine } from "./engine.ts";
import { gatewayLink, type GatewayLink } from "./gateway-link.ts";
import { makePlan } from "./plan.ts";
import { prefixId, prefixWatch } from "./prefix.ts";
import { locate, newRun, receiptOfCall, receiptOfWait, type Run } from "./run.ts";
import type { Bounds } from "./steps.ts";

export interface RufloReceiptsOptions {
  /** Asked at every call: only calls to this server get receipts (`http://host:port`), so that step names stay with your own gateway. */
  readonly gateway: () => string | undefined;
  /** Laps assumed of a loop that declares none in `config.rounds` of its condition. Default 10 at most, 3 as a mean. */
  readonly loop?: Bounds;
  readonly log?: (message: string) => void;
}

/** What the receipts cost this process so far. */
export interface RufloReceiptsStats {
  readonly calls: number;
  readonly receipts: number;
  /** Milliseconds spent on receipts inside calls, all together and at worst. */
  readonly totalMs: number;
  readonly worstMs: number;
}

export interface RufloReceipts {
  readonly stats: () => RufloReceiptsStats;
  /** Puts the engine's handler and the process's `fetch` back. */
  readonly uninstall: () => void;
}

/** Characters of a graph that still fits a header beside the rest of the receipt. */
const GRAPH_ON_CALLS_MAX = 4_000;

export const DEFAULT_LOOP: Bounds = { max: 10, mean: 3 };

/**
 * Puts receipts on the model calls of a loaded v3 engine: `workflow_execute` runs inside an async scope, and the process's
 * `fetch` adds what the scope knows. A call is never delayed, changed otherwise or failed by this. @throws UnknownEngine
 */
export function installReceipts(workflowModule: unknown, typesModule: unknown, options: RufloReceiptsOptions): RufloReceipts {
  const engine = detect(workflowModule, typesModule);
  const { execute } = engine;
  const run = execute.handler;
  const send = globalThis.fetch;
  const scope = new AsyncLocalStorage<Run>();
  const link = gatewayLink(send);
  const once = logOnce(options.log ?? (() => undefined));
  const { stats, fetch } = receiptFetch(engine, scope, send, link, options, once);

  const handler: typeof run = (input, context) => {
    const found = attempt(() => beginRun(engine, input, options), once);
    if (found === null) return run.call(execute, input, context);
    const answer = scope.run(found, () => run.call(execute, input, context));
    answer.then(
      (result) => endRun(link, found, (result as { status?: unknown } | null)?.status === "completed"),
      () => endRun(link, found, false),
    );
    return answer;
  };
  execute.handler = handler;
  globalThis.fetch = fetch;
  return {
    stats,
    uninstall: () => {
      if (execute.handler === handler) execute.handler = run;
      if (globalThis.fetch === fetch) globalThis.fetch = send;
    },
  };
}

function receiptFetch(
  engine: RufloEngine,
  scope: AsyncLocalStorage<Run>,
  send: typeof fetch,
  link: GatewayLink,
  options: RufloReceiptsOptions,
  once: (message: string) => void,
): { readonly fetch: typeof fetch; readonly stats: () => RufloReceiptsStats } {
  const watch = prefixWatch();
  let [calls, receipts, totalMs, worstMs] = [0, 0, 0, 0];
  const receiptFor = (run: Run, body: unknown) => {
    calls += 1;
    const index = locate(run, () => runningStep(engine, run));
    if (index === null) return null;
    const id = attempt(() => prefixId(JSON.parse(typeof body === "string" ? body : "null")), once);
    const agent = run.plan.agents[index] ?? "";
    receipts += 1;
    return receiptOfCall(run, index, id === null ? null : watch(agent, id), Date.now());
  };
  const wrapped: typeof fetch = (input, init) => {
    const run = scope.getStore();
    const gateway = run === undefined ? undefined : options.gateway();
    if (run === undefined || gateway === undefined) return send(input, init);
    let answer: ReturnType<typeof fetch> | undefined;
    const began = performance.now();
    const call: typeof fetch = (url, with_) => {
      const spent = performance.now() - began;
      totalMs += spent;
      worstMs = Math.max(worstMs, spent);
      return (answer = send(url, with_));
    };
    const before = receipts;
    const sent = topasFetch(call, () => receiptFor(run, init?.body), {
      baseURL: `${gateway.replace(/\/+$/, "")}/`,
      onError: (e) => once(String(e)),
    })(input, init);
    if (receipts === before) return sent;
    const first = run.revision === 1;
    const closing = run.at !== null && run.plan.after(run.at).length === 0;
    answer?.then(
      (response) => {
        run.lastFailed = !response.ok;
        run.closed = closing && response.ok;
        link.met(
          typeof input === "string" ? input : input instanceof URL ? input.href : input.url,
          new Headers(init?.headers),
          response,
        );
        if (first && run.declares && run.plan.graph !== null) link.declare(run.workflowId, run.plan.graph);
        const wait = response.ok ? receiptOfWait(run, Date.now()) : null;
        if (wait !== null) link.tell(wait);
      },
      () => (run.lastFailed = true),
    );
    return sent;
  };
  return { fetch: wrapped, stats: () => ({ calls, receipts, totalMs, worstMs }) };
}

function beginRun(engine: RufloEngine, input: Record<string, unknown>, options: RufloReceiptsOptions): Run | null {
  const { workflowId, variables, startFromStep } = input;
  const stored = typeof workflowId === "string" ? readWorkflow(engine, workflowId) : null;
  if (stored === null) return null;
  const arrivalMs = Date.now();
  const given = typeof variables === "object" && variables !== null ? (variables as Record<string, unknown>) : {};
  const defaultAgent = given["defaultAgentId"] ?? stored.variables?.["defaultAgentId"];
  // Run again or taken up again: a task of its own, since the gateway may have closed the first one.
  const again = stored.steps.some((step) => step.startedAt !== undefined);
  const plan = makePlan(stored.steps, { loop: options.loop ?? DEFAULT_LOOP, defaultAgent });
  const name = stored.name ?? String(workflowId);
  const graph = JSON.stringify(plan.graph);
  const declares = graph.length > GRAPH_ON_CALLS_MAX;
  return newRun({
    storedAs: String(workflowId),
    taskId: again ? `${String(workflowId)}@${arrivalMs.toString(36)}` : String(workflowId),
    workflowId: declares ? `${name.slice(0, 200)}#${createHash("sha256").update(graph).digest("hex").slice(0, 12)}` : name,
    declares,
    plan,
    start: typeof startFromStep === "number" ? startFromStep : 0,
    arrivalMs,
  });
}

/** The engine marks a step before its call, in the same synchronous turn; in one run one step is marked at a time. */
function runningStep(engine: RufloEngine, run: Run): number | null {
  const steps = readWorkflow(engine, run.storedAs)?.steps ?? [];
  const index = steps.findIndex((step) => step.status === "running" && step.type === "task");
  return index < 0 ? null : index;
}

function endRun(link: GatewayLink, run: Run, completed: boolean): void {
  if (run.revision > 0 && !run.closed) link.finish(run.taskId, completed ? "done" : "cancelled");
}

function attempt<T>(make: () => T, once: (message: string) => void): T | null {
  try {
    return make();
  } catch (error) {
    once(error instanceof Error ? error.message : String(error));
    return null;
  }
}

function logOnce(log: (message: string) => void): (message: string) => void {
  const said = new Set<string>();
  return (message) => {
    if (said.size > 20 || said.has(message)) return;
    said.add(message);
    log(message);
  };
}
