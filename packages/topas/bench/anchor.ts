/**
 * `npm run bench:anchor -- FILE [--kv 3840,7168,16384] [--policy topas] [--gap 60] [--json]`: a fixed hub workload (24 tasks,
 * 144 calls, exact prompts and lengths) through the gateway on the embedded engine. Counters are the result.
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { startGateway } from "@topas/gateway";
import { encodeReceiptHeader } from "@topas/receipt";
import { mean, quantile } from "@topas/sim";
import { table } from "../src/demo/report.ts";
import { createEngine, engineDefaults } from "../src/engine-choice.ts";

interface Anchor {
  readonly agents: readonly { readonly id: string; readonly prefix_tokens: number; readonly prefix_words: readonly number[] }[];
  readonly tasks: readonly {
    readonly id: string;
    readonly arrival_unit: number;
    readonly task_words: readonly number[];
    readonly calls: readonly {
      readonly agent: string;
      readonly input_words: readonly number[];
      readonly output_tokens: number;
      readonly think_ms: number;
      readonly echo_words: readonly number[];
      readonly prompt_tokens: number;
    }[];
  }[];
}
type Task = Anchor["tasks"][number];

interface Answer {
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  };
  readonly error?: { readonly message: string };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kv: { type: "string", default: "3840,7168,16384" },
    policy: { type: "string", default: "topas" },
    gap: { type: "string", default: "60" },
    "host-tier": { type: "string", default: "512" },
    json: { type: "boolean", default: false },
  },
});
const file = positionals[0];
if (file === undefined) {
  console.error(
    "usage: npm run bench:anchor -- FILE [--kv 3840,7168,16384] [--policy ids] [--gap ms] [--host-tier MiB] [--json]",
  );
  process.exit(2);
}
const anchor = JSON.parse(readFileSync(file, "utf8")) as Anchor;
const text = (words: readonly number[]): string => words.map((w) => ` w${String(w).padStart(4, "0")}`).join("");
const agents = new Map(anchor.agents.map((a) => [a.id, a]));
const outputTokens = anchor.tasks.reduce((n, t) => n + t.calls.reduce((m, c) => m + c.output_tokens, 0), 0);

const rows = [];
for (const policy of values.policy.split(","))
  for (const kv of values.kv.split(",").map(Number)) rows.push(await run(policy, kv));
if (values.json) console.log(JSON.stringify({ evidence: "real-cpu", model: "made (tiny5m)", rows }));
else {
  console.log(
    `real-cpu, made model; ${anchor.tasks.length} tasks, mean gap ${values.gap} ms, host tier ${values["host-tier"]} MiB, ${outputTokens} output tokens\n`,
  );
  console.log(
    table(
      [
        "policy",
        "cells",
        "tasks",
        "exact",
        "processed tok",
        "hit rate",
        "CPU s",
        "mean s",
        "p95 s",
        "p99 s",
        "preempt",
        "moved MB",
      ],
      rows.map((r) => [
        r.policy,
        String(r.kv),
        `${r.finished}/${anchor.tasks.length}`,
        r.exact ? "yes" : "NO",
        String(r.processedTokens),
        r.hitRate.toFixed(3),
        r.cpuS === null ? "-" : r.cpuS.toFixed(1),
        r.jctMeanS.toFixed(2),
        r.jctP95S.toFixed(2),
        r.jctP99S.toFixed(2),
        String(r.preemptions),
        (r.movedBytes / 1e6).toFixed(1),
      ]),
    ),
  );
}

async function run(policy: string, kv: number) {
  const engine = await createEngine({
    ...engineDefaults,
    made: "tiny5m",
    kvTokens: kv,
    hostTierMib: Number(values["host-tier"]),
  });
  const gateway = await startGateway({ engine, policy, host: "127.0.0.1", port: 0, keys: new Map(), logLevel: "error" });
  let mismatches = 0;
  const started = performance.now();
  const cpu0 = cpuSeconds();
  const times = await Promise.all(
    anchor.tasks.map(async (task) => {
      await sleep(Math.max(0, task.arrival_unit * Number(values.gap) - (performance.now() - started)));
      const arrived = performance.now();
      try {
        for (let k = 0; k < task.calls.length; k++) await call(gateway.url, task, k);
        return (performance.now() - arrived) / 1000;
      } catch (error) {
        process.stderr.write(`${policy} ${kv}: ${task.id}: ${error instanceof Error ? error.message : String(error)}\n`);
        return null;
      }
    }),
  );
  const cpu1 = cpuSeconds();
  const c = gateway.loop.counters();
  const at = (name: string): number => c[name] ?? 0;
  await gateway.close();
  const done = times.filter((t) => t !== null);
  return {
    policy,
    kv,
    finished: done.length,
    exact: mismatches === 0,
    processedTokens: at("computed_tokens_total"),
    hitRate: at("cached_tokens_total") / at("prompt_tokens_total"),
    cpuS: cpu0 === null || cpu1 === null ? null : cpu1 - cpu0,
    jctMeanS: mean(done),
    jctP95S: quantile(done, 0.95),
    jctP99S: quantile(done, 0.99),
    preemptions: at("preemptions_total") + at("forced_preemptions_total"),
    movedBytes: at("moved_bytes_total"),
  };

  async function call(url: string, task: Task, k: number): Promise<void> {
    const spec = task.calls[k];
    const agent = spec === undefined ? undefined : agents.get(spec.agent);
    if (spec === undefined || agent === undefined) throw new Error(`call ${k} of ${task.id} names an unknown agent`);
    if (spec.think_ms > 0) await sleep(spec.think_ms);
    const prompt =
      text(agent.prefix_words) +
      text(task.task_words) +
      task.calls
        .slice(0, k)
        .map((c) => text(c.echo_words))
        .join("") +
      text(spec.input_words);
    const receipt = encodeReceiptHeader({
      spec: "topas.receipt/1",
      authority: "none",
      taskId: task.id,
      workflowId: "anchor-hub",
      stage: `step-${k}`,
      agent: spec.agent,
      final: k === task.calls.length - 1,
      graph: {
        stages: task.calls.map((c, i) => ({ id: `step-${i}`, agent: c.agent })),
        edges: task.calls.slice(1).map((_, i): [string, string] => [`step-${i}`, `step-${i + 1}`]),
      },
    });
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-topas-receipt": receipt },
      body: JSON.stringify({
        model: "default",
        prompt,
        max_tokens: spec.output_tokens,
        temperature: 0,
        ignore_eos: true,
        prefix_tokens: agent.prefix_words.length + 1,
      }),
    });
    const answer = (await response.json()) as Answer;
    if (!response.ok) throw new Error(answer.error?.message ?? `status ${response.status}`);
    if (answer.usage.prompt_tokens !== spec.prompt_tokens || answer.usage.completion_tokens !== spec.output_tokens) {
      mismatches++;
      process.stderr.write(
        `${task.id} call ${k}: ${JSON.stringify(answer.usage)}, expected ${spec.prompt_tokens} + ${spec.output_tokens}\n`,
      );
    }
  }
}

/** CPU of this process and its children, seconds; null where /proc does not say. */
function cpuSeconds(): number | null {
  try {
    const own = process.cpuUsage();
    let ticks = 0;
    for (const pid of readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter(Boolean)) {
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      ticks += Number(fields[11]) + Number(fields[12]);
    }
    return (own.user + own.system) / 1e6 + ticks / 100;
  } catch {
    return null;
  }
}
