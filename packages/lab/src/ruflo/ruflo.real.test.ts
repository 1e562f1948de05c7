/** With the published packages of `topas ruflo setup`; skipped by name where they are not there. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { installReceipts, type RufloReceipts } from "@topas/receipt/ruflo";
import { afterEach, describe, expect, it } from "vitest";
import { preloadOptions, RUFLO_WORKLOADS, rufloPackages, rufloWorkload, type RufloWorkloadName } from "./index.ts";
import { v3Root } from "./packages.ts";
import { openPool } from "./pool.ts";
import { openRig, type Rig } from "./testing/rig.ts";

const packages = rufloPackages();
const title = (name: string): string => (packages === null ? `${name} (skipped: no packages, run npx topas ruflo setup)` : name);
const real = it.skipIf(packages === null);

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function open(options?: Parameters<typeof openRig>[0]): Promise<Rig> {
  const rig = await openRig(options);
  closers.push(() => rig.gateway.close());
  return rig;
}

async function workload(name: RufloWorkloadName, jobs: number, seed = 1) {
  const made = await rufloWorkload(name, { seed, jobs, arrival: "poisson", ratePerSecond: null, packages: packages! });
  closers.push(() => made.close!());
  return made;
}

/** Stages of each workload in the order of a run that has one round. */
const EDGES: Readonly<Record<RufloWorkloadName, readonly string[]>> = {
  "ruflo-r1-chain": ["Research>Design", "Design>Implement", "Implement>Test", "Test>Review"],
  "ruflo-r2-research": [
    "research-planning>technical-research",
    "research-planning>business-research",
    "research-planning>ethical-research",
    "technical-research>data-synthesis",
    "business-research>data-synthesis",
    "ethical-research>data-synthesis",
    "data-synthesis>report-generation",
  ],
  "ruflo-r3-loop": ["specialist>supervisor", "supervisor>specialist", "supervisor>writer"],
  "ruflo-r4-mle-star": [
    "web_search_phase>foundation_building",
    "dataset_analysis>foundation_building",
    "foundation_building>ablation_analysis",
    "ablation_analysis>targeted_refinement",
    "targeted_refinement>ensemble_creation",
    "ensemble_creation>validation_and_debugging",
    "validation_and_debugging>model_deployment_prep",
  ],
};

describe("published Ruflo engines through the gateway", () => {
  for (const name of RUFLO_WORKLOADS)
    real(
      title(`${name}: every expected call arrives, and the gateway sees tasks, stages, agents and the graph as they ran`),
      async () => {
        const played = await workload(name, 2);
        const rig = await open({ lengths: played.outputTokens });
        const started = performance.now();
        const now = (): number => (performance.now() - started) / 1_000;
        const outcomes = await played.play({ url: rig.gateway.url, signal: AbortSignal.timeout(60_000), now });
        expect(outcomes.map(({ status, error }) => [status, error])).toEqual(Array(2).fill(["completed", null]));

        const expected = played.jobs.reduce((sum, { calls }) => sum + calls, 0);
        expect(rig.count("calls_finished_total")).toBe(expected);
        expect(rig.seen.length).toBe(expected);
        const byTask = new Map(
          [...new Set(rig.seen.map(({ task }) => task))].map((id) => [id, rig.seen.filter(({ task }) => task === id)]),
        );
        expect(byTask.size).toBe(2);
        expect([...byTask.values()].map(({ length }) => length).toSorted((a, b) => a - b)).toEqual(
          played.jobs.map(({ calls }) => calls).toSorted((a, b) => a - b),
        );
        for (const [task, calls] of byTask) {
          const graph = rig.graphs.get(task)!;
          expect(graph.edges.map(([from, to]) => `${from}>${to}`)).toEqual(EDGES[name]);
          const agentOf = new Map(graph.stages.map(({ id, agent }) => [id, agent]));
          for (const { stage, agent } of calls) expect(agentOf.get(stage)).toContain(`:${agent},`);
          expect(new Set(calls.map(({ stage }) => stage))).toEqual(new Set(graph.stages.map(({ id }) => id)));
          calls.forEach(({ stage }, i) => {
            const before = graph.edges.filter(([, to]) => to === stage).map(([from]) => from);
            const ran = calls.slice(0, i).map((call) => call.stage);
            if (ran.length > 0 && before.length > 0) expect(before.some((parent) => ran.includes(parent))).toBe(true);
          });
        }
        await rig.until(() => rig.count("tasks") === 0);
        expect(rig.count("receipt_contradiction_total")).toBe(0);
        expect(rig.core("graphsRefused") + rig.core("loopOverruns") + rig.core("graphContradictions")).toBe(0);
      },
    );

  real(title("a workload is a function of its seed"), async () => {
    const [one, same, other] = [
      await workload("ruflo-r3-loop", 4),
      await workload("ruflo-r3-loop", 4),
      await workload("ruflo-r3-loop", 4, 2),
    ];
    expect(one.inputs).toBe(same.inputs);
    expect(one.jobs).toEqual(same.jobs);
    expect(one.inputs).not.toBe(other.inputs);
  });

  real(title("without receipts the same calls arrive, and nobody says what they belong to"), async () => {
    const options = { seed: 1, jobs: 1, arrival: "poisson", ratePerSecond: null, packages: packages!, receipts: false } as const;
    const played = await rufloWorkload("ruflo-r1-chain", options);
    closers.push(() => played.close!());
    const rig = await open();
    const [outcome] = await played.play({ url: rig.gateway.url, signal: AbortSignal.timeout(60_000), now: () => 0 });
    expect(outcome!.status).toBe("completed");
    expect(rig.seen.map(({ stage }) => stage)).toEqual(["*", "*", "*", "*", "*"]);
    expect(rig.graphs.size).toBe(0);
  });

  real(title("a thread that is killed in a tool wait leaves a task that expires"), async () => {
    const rig = await open({ taskIdleSeconds: 0.3 });
    const pool = await openPool({ kind: "v3", packages: packages!, size: 1, receipts: true });
    closers.push(pool.close);
    const call = { type: "task", config: { agentId: "coder", prompt: "go", maxTokens: 4 } };
    const steps = [
      { name: "a", ...call },
      { name: "tool", type: "wait", config: { ms: 30_000 } },
      { name: "b", ...call },
    ];
    const stop = new AbortController();
    const running = pool.run(
      { kind: "v3", id: "j", name: "killed", agents: ["coder"], steps, answers: {} },
      rig.gateway.url,
      stop.signal,
    );
    await rig.until(() => rig.count("calls_finished_total") === 1);
    stop.abort(new Error("killed"));
    await expect(running).rejects.toThrow("killed");
    await rig.until(() => rig.count("tasks") === 0);
    expect(rig.count("tasks_expired_total")).toBe(1);
  });
});

interface EngineTool {
  readonly name: string;
  readonly handler: (input: Record<string, unknown>) => Promise<Record<string, unknown>>;
}

/** The v3 engine in this process, in a folder that is removed afterwards. */
async function engineHere(
  url: string,
): Promise<(name: string, input: Record<string, unknown>) => Promise<Record<string, unknown>>> {
  const load = (file: string): Promise<Record<string, unknown>> =>
    import(/* @vite-ignore */ pathToFileURL(join(v3Root(packages!), "dist", "src", "mcp-tools", file)).href);
  const [workflows, agents, types] = [await load("workflow-tools.js"), await load("agent-tools.js"), await load("types.js")];
  const installed: RufloReceipts = installReceipts(workflows, types, { gateway: () => url });
  closers.push(installed.uninstall);
  const tools = [...(workflows["workflowTools"] as EngineTool[]), ...(agents["agentTools"] as EngineTool[])];
  return (name, input) => tools.find((tool) => tool.name === name)!.handler(input);
}

function environment(url: string): Record<string, string> {
  const home = mkdtempSync(join(tmpdir(), "topas-ruflo-test-"));
  const project = join(home, "project");
  mkdirSync(project);
  const ours = {
    RUFLO_PROVIDER: "openrouter",
    OPENROUTER_API_KEY: "local",
    OPENROUTER_BASE_URL: url,
    CLAUDE_FLOW_CWD: project,
    HOME: home,
    RUFLO_CLI_ROOT: v3Root(packages!),
  };
  const before = new Map(Object.keys(ours).map((name) => [name, process.env[name]]));
  Object.assign(process.env, ours);
  const folder = process.cwd();
  process.chdir(project);
  closers.push(() => {
    process.chdir(folder);
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    rmSync(home, { recursive: true, force: true });
  });
  return ours;
}

const step = (name: string, agentId: string, config: object = {}) => ({
  name,
  type: "task",
  config: {
    agentId,
    systemPrompt: `You are ${agentId}.`,
    prompt: `${name} {{lastStepOutput}}`,
    maxTokens: 4,
    temperature: 0,
    ...config,
  },
});

describe("the published v3 engine in one process", () => {
  real(title("six workflows in one folder at once: each call belongs to its own task and stage"), async () => {
    const rig = await open();
    environment(rig.gateway.url);
    const call = await engineHere(rig.gateway.url);
    for (const agentId of ["coder", "lead"])
      await call("agent_spawn", { agentType: "coder", agentId, config: { model: "default", provider: "openrouter" } });
    const ids: string[] = [];
    for (let i = 0; i < 6; i++) {
      const steps = [step(`${i}-plan`, "lead"), step(`${i}-code`, "coder"), step(`${i}-review`, "lead")];
      ids.push(
        String((await call("workflow_create", { name: `w${i}`, steps, variables: { lastStepOutput: "" } }))["workflowId"]),
      );
    }
    const results = await Promise.all(ids.map((workflowId) => call("workflow_execute", { workflowId })));
    expect(results.map(({ status }) => status)).toEqual(Array(6).fill("completed"));
    expect(rig.count("calls_finished_total")).toBe(18);
    for (const [i, id] of ids.entries())
      expect(rig.seen.filter(({ task }) => task === id).map(({ stage }) => stage)).toEqual([
        `${i}-plan`,
        `${i}-code`,
        `${i}-review`,
      ]);
    await rig.until(() => rig.count("tasks") === 0);
  });

  real(title("the client's own time limit ends a held call; the task is cancelled and nothing is left of it"), async () => {
    const rig = await open({ script: (maxTokens) => (maxTokens === 99 ? { stallAfter: 0 } : undefined) });
    environment(rig.gateway.url);
    const call = await engineHere(rig.gateway.url);
    await call("agent_spawn", { agentType: "coder", agentId: "coder", config: { model: "default", provider: "openrouter" } });
    const steps = [step("a", "coder"), step("held", "coder", { maxTokens: 99, timeoutMs: 200 }), step("b", "coder")];
    const { workflowId } = await call("workflow_create", { name: "held", steps, variables: { lastStepOutput: "" } });
    const result = await call("workflow_execute", { workflowId });
    expect(result).toMatchObject({ status: "failed", failedStep: "step-2", stepsCompleted: 1 });
    await rig.until(() => rig.count("tasks") === 0);
    expect(rig.count("calls_cancelled_total")).toBe(rig.seen.filter(({ stage }) => stage === "held").length);
  });

  real(title("the command line with the preload: two calls, two receipts, and what they cost"), async () => {
    const rig = await open();
    const env = environment(rig.gateway.url);
    const call = await engineHere(rig.gateway.url);
    await call("agent_spawn", { agentType: "coder", agentId: "coder", config: { model: "default", provider: "openrouter" } });
    const { workflowId } = await call("workflow_create", {
      name: "cli",
      steps: [step("code", "coder"), step("review", "coder")],
      variables: { lastStepOutput: "" },
    });
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [
        ...preloadOptions(),
        join(packages!, "v3", "node_modules", "ruflo", "bin", "ruflo.js"),
        "mcp",
        "exec",
        "--tool=workflow_execute",
        `--params=${JSON.stringify({ workflowId })}`,
      ],
      { env: { ...env, PATH: process.env["PATH"], TOPAS_RECEIPTS: "stats" }, cwd: env["CLAUDE_FLOW_CWD"], timeout: 30_000 },
    );
    const line = stderr.split("\n").find((text) => text.startsWith("topas receipts:"));
    expect(line).toMatch(/^topas receipts: 2 calls, 2 receipts; /);
    console.log(line);
    expect(rig.seen).toEqual([
      { task: workflowId, stage: "code", agent: "coder" },
      { task: workflowId, stage: "review", agent: "coder" },
    ]);
  });
});
