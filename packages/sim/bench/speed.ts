/**
 * Speed of the virtual engine, one core. Prints simulated seconds per wall second, engine steps, request-steps and tasks per
 * wall second, and what ten times the tasks cost. Run: node --conditions=@topas/source --import tsx packages/sim/bench/speed.ts
 */
import { simulate, type SimAgent, type SimConfig, type SimResult, type SimTask } from "@topas/sim";
import { readProfile } from "./read-profile.ts";

const profile = readProfile("qwen2.5-32b-a100");
const plain: SimAgent = { name: "plain", prefixTokens: 0 };
const chain: SimAgent[] = ["A", "B", "C"].map((name) => ({ name, prefixTokens: 4_000 }));

/** `count` calls of `output` tokens, all at once; the budget keeps `batch` of them together. */
function decodeHeavy(batch: number, count: number, output: number): SimConfig {
  const tasks = Array.from({ length: count }, (_, i) => single(i, 200, output));
  const budget = batch * (200 + output + 16) + 64;
  return { profile, budget, rules: "vllm-0.11", rulesOptions: { vllm: { maxSequences: batch } }, agents: [plain], tasks };
}

function single(i: number, promptTokens: number, outputTokens: number): SimTask {
  const rounds = [{ promptTokens, outputTokens, toolWaitSeconds: 0 }];
  return { id: `r${i}`, arrivalSeconds: 0, workflow: null, graph: null, stages: [{ id: "call", agent: "plain", rounds }] };
}

/** Three-stage tasks, 40 in the system at any time: task k arrives when about k - 40 are done. */
function chainTasks(count: number): SimTask[] {
  return Array.from({ length: count }, (_, i) => ({
    id: `t${String(i).padStart(6, "0")}`,
    arrivalSeconds: Math.max(0, i - 40) * 5,
    workflow: "chain-3",
    graph: null,
    stages: chain.map(({ name }) => ({
      id: name,
      agent: name,
      rounds: [{ promptTokens: 500, outputTokens: 400, toolWaitSeconds: 0 }],
    })),
  }));
}

function timed(name: string, config: SimConfig, repeats = 3): number {
  let best = Infinity;
  let result: SimResult | null = null;
  for (let i = 0; i < repeats; i++) {
    const from = performance.now();
    result = simulate({ ...config, record: { log: "none", ...config.record } });
    best = Math.min(best, (performance.now() - from) / 1000);
  }
  const { recorder, endSeconds, tasks } = result!;
  const per = (value: number): string =>
    Math.round(value / best)
      .toLocaleString("en")
      .padStart(13);
  const batch = recorder.requestSteps / recorder.steps;
  console.log(
    `${name.padEnd(34)} batch ${batch.toFixed(1).padStart(5)} ${per(endSeconds)} sim s/s ${per(recorder.steps)} steps/s ${per(recorder.requestSteps)} request-steps/s ${per(tasks.length)} tasks/s  ${best.toFixed(3)} s`,
  );
  return best;
}

const quick = process.argv.includes("--quick");
const scale = quick ? 0.2 : 1;
console.log("best of 3 runs each; decisions of a policy cost extra and are shown apart");
for (const batch of [1, 8, 32]) timed(`vllm-0.11, ${batch} together`, decodeHeavy(batch, Math.ceil(batch * 40 * scale), 1_000));
const stock = (count: number, rules: SimConfig["rules"]): SimConfig => ({
  profile,
  budget: 37_500,
  rules,
  agents: chain,
  tasks: chainTasks(count),
});
for (const rules of ["sglang-0.5.x", "vllm-0.11"] as const) timed(`chain-3 ${rules}`, stock(2_000 * scale, rules));
const one = timed("chain-3 sglang, n tasks", stock(500 * scale, "sglang-0.5.x"));
const ten = timed("chain-3 sglang, 10 n tasks", stock(5_000 * scale, "sglang-0.5.x"));
console.log(`ten times the tasks cost ${(ten / one).toFixed(1)}x (bar: at most 12x)`);
for (const policy of ["lpm-task-o", "topas"])
  timed(
    `chain-3 oracle rules, ${policy}`,
    { ...stock(100 * scale, "oracle"), policy, rulesOptions: { hostTier: "pcie" }, redo: "reprefill" },
    1,
  );
