import { setMaxListeners } from "node:events";
import { startGateway } from "@topas/gateway";
import type { Command } from "commander";
import { playTasks } from "../demo/drive.ts";
import { mean, quantile } from "@topas/sim";
import { demoTable, type DemoRow } from "../demo/report.ts";
import { AGENTS, demoTasks, type DemoTask } from "../demo/workload.ts";
import { createEngine, engineDefaults, type EngineChoice } from "../engine-choice.ts";
import { whole } from "./options.ts";

interface DemoFlags {
  readonly json?: true;
  readonly quick?: true;
  readonly policies: string;
  readonly kv: number;
  readonly hostTier: number;
  readonly gap: number;
  readonly seed: number;
  readonly maxRunning: number;
}

/** `topas demo`: the same workflows, arrivals and prompts under each policy, on the embedded engine. */
export function demoCommand(program: Command): void {
  program
    .command("demo")
    .description("run 24 supervisor and 24 fork/join tasks under KV pressure, once per policy, and compare")
    .option("--json", "print one JSON object instead of the table")
    .option("--quick", "6 tasks of each workflow instead of 24")
    .option("--policies <ids>", "comma-separated policies", "fcfs,topas")
    .option("--kv <tokens>", "KV cache budget in tokens", whole(2048), 4096)
    .option("--host-tier <mib>", "host memory for evicted KV; 0 = off", whole(0), 0)
    .option("--gap <ms>", "mean time between task arrivals", whole(1), 220)
    .option("--seed <n>", "seed of the workload", whole(0), 1)
    .option("--max-running <n>", "calls running at once", whole(1, 200), 16)
    .action(async (flags: DemoFlags) => {
      const tasks = demoTasks({ seed: flags.seed, tasksPerWorkflow: flags.quick === true ? 6 : 24, meanGapMs: flags.gap });
      const choice: EngineChoice = {
        ...engineDefaults,
        kvTokens: flags.kv,
        hostTierMib: flags.hostTier,
        maxRunning: flags.maxRunning,
      };
      const prefixTokens = Object.values(AGENTS).reduce((a, b) => a + b, 0);
      if (flags.json !== true) {
        console.log(`real-cpu, made model (${choice.made}, random weights: text is noise, KV cache and timings are real)`);
        console.log(
          `${tasks.length} tasks, ${tasks.reduce((n, t) => n + t.calls.length, 0)} calls; ${Object.keys(AGENTS).length} agent prefixes of ${prefixTokens} tokens in all, KV budget ${flags.kv} tokens, host tier ${flags.hostTier === 0 ? "off" : `${flags.hostTier} MiB`}\n`,
        );
      }
      const rows: DemoRow[] = [];
      for (const policy of flags.policies.split(",")) {
        if (flags.json !== true) process.stderr.write(`  ${policy} ...\n`);
        rows.push(await runPolicy(policy, tasks, choice));
      }
      if (flags.json === true) console.log(JSON.stringify({ evidence: "real-cpu", model: "made", policies: rows }));
      else console.log(demoTable(rows));
      if (rows.some((r) => r.failed > 0)) process.exitCode = 1;
    });
}

async function runPolicy(policy: string, tasks: readonly DemoTask[], choice: EngineChoice): Promise<DemoRow> {
  const engine = await createEngine(choice);
  const gateway = await startGateway({ engine, policy, host: "127.0.0.1", port: 0, keys: new Map(), logLevel: "error" });
  const abort = new AbortController();
  setMaxListeners(0, abort.signal);
  const onInterrupt = (): void => abort.abort(new Error("interrupted"));
  process.once("SIGINT", onInterrupt);
  try {
    const outcomes = await playTasks(gateway.url, tasks, abort.signal);
    const c = gateway.loop.counters();
    const at = (name: string): number => c[name] ?? 0;
    for (const o of outcomes) if (o.error !== null) process.stderr.write(`  ${policy}: ${o.id} failed: ${o.error}\n`);
    const done = outcomes.map((o) => o.seconds).filter((s) => s !== null);
    return {
      policy,
      jctMeanS: mean(done),
      jctP99S: quantile(done, 0.99),
      prefixHitRate: at("cached_tokens_total") / at("prompt_tokens_total"),
      recomputedTokens: Math.max(0, at("computed_tokens_total") - at("own_prompt_tokens_total") - distinctPrefixTokens(tasks)),
      movedBytes: at("moved_bytes_total"),
      preemptions: at("preemptions_total") + at("forced_preemptions_total"),
      batchMean: at("step_requests_total") / at("steps_total"),
      kvOccupancy: at("kv_occupied_token_seconds_total") / (at("step_seconds_total") * choice.kvTokens),
      requests: at("calls_finished_total"),
      failed: at("calls_failed_total") + outcomes.filter((o) => o.error !== null).length,
    };
  } finally {
    process.off("SIGINT", onInterrupt);
    await gateway.close();
  }
}

/** Every prefix once: with every call's own prompt, what any policy must compute. More than that was computed again. */
function distinctPrefixTokens(tasks: readonly DemoTask[]): number {
  const used = new Set(tasks.flatMap((t) => t.calls.map((c) => c.agent)));
  return [...used].reduce((n, agent) => n + (AGENTS[agent] ?? 0), 0);
}
