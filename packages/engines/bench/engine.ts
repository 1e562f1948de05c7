/**
 * `npm run bench:engine [-- --quick] [--json] [--models tiny5m,s60m]`: the embedded engine beside a bare libllama loop in its own
 * process (same context, same chunks, no scheduler, no messages), round by round in turn, and a prefix recomputed beside restored.
 * Ratios are the result; the digits belong to this machine. `--json`: `{evidence, model, llama, mode, system, load, rows}`; rows are
 * `StepRow` and `PrefixRow` of `engine/report.ts`.
 */
import { availableParallelism, loadavg } from "node:os";
import { parseArgs } from "node:util";
import type { EngineDescription } from "../src/engine.ts";
import { ensureModel, LlamaEngine } from "../src/llama/index.ts";
import { openOptions } from "../src/llama/options.ts";
import type { Job, Run } from "./engine/jobs.ts";
import { CELLS, CHUNK } from "./engine/jobs.ts";
import { movePrefix, runJob } from "./engine/ours.ts";
import type { Raw } from "./engine/raw.ts";
import { startRaw } from "./engine/raw.ts";
import type { PrefixRow, StepRow } from "./engine/report.ts";
import { compareRuns, mean, median, prefixTable, stepTable, TARGET_PCT } from "./engine/report.ts";

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    models: { type: "string", default: "tiny5m,s60m" },
  },
});
/** Rounds of a row: at least `least`, then more while they fit into `budgetMs`. */
const size = values.quick
  ? { prompt: 1024, steps: 16, prefixes: [1024], least: 3, most: 40, budgetMs: 700 }
  : { prompt: 2048, steps: 64, prefixes: [1024, 2048], least: 5, most: 60, budgetMs: 4000 };

const stepRows: StepRow[] = [];
const prefixRows: PrefixRow[] = [];
let description: EngineDescription | null = null;
for (const model of values.models.split(",")) description = await bench(model);
const [build, system, mode] = description?.notes ?? [];
const load = `load average ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores`;

if (values.json) {
  console.log(
    JSON.stringify({ evidence: "real-cpu", model: "made", llama: build, mode, system, load, rows: [...stepRows, ...prefixRows] }),
  );
} else {
  console.log(`real-cpu, made model; ${build}; ${mode}; ${CELLS} cells; ${load}`);
  console.log(`${system}\nRatios matter, not digits: both sides ran in turn on this machine.\n`);
  console.log(stepTable(stepRows));
  const count = (verdict: StepRow["verdict"]): string => `${stepRows.filter((r) => r.verdict === verdict).length} ${verdict}`;
  console.log(
    `
overhead: our whole step beside the bare loop's, median over rounds [quartiles]; quiet: the same with the fastest occurrence of
every few steps on either side; target ${TARGET_PCT} % or less by both: ${count("PASS")}, ${count("MISS")}, ${count("unclear")}
`,
  );
  console.log(prefixTable(prefixRows));
}

async function bench(model: string): Promise<EngineDescription> {
  const engine = new LlamaEngine({ modelPath: await ensureModel(model), kvTokens: CELLS, chunkTokens: CHUNK });
  const found = await engine.start();
  const raw = await startRaw(openOptions(engine.options));
  try {
    const jobs: Job[] = [
      { kind: "prefill", tokens: size.prompt },
      ...[1, 4, 8].map((batch): Job => ({ kind: "decode", batch, steps: size.steps })),
    ];
    for (const job of jobs) stepRows.push(await compare(model, engine, raw, job));
    for (const tokens of size.prefixes) prefixRows.push(await prefix(model, engine, tokens));
  } finally {
    raw.close();
    await engine.close();
  }
  return found;
}

async function compare(model: string, engine: LlamaEngine, raw: Raw, job: Job): Promise<StepRow> {
  const sides = { ours: () => runJob(engine, job), raw: () => raw.run(job) };
  // Caches, pages and compiled code: one short run of each side first.
  const short: Job = job.kind === "prefill" ? { kind: "prefill", tokens: 2 * CHUNK } : job;
  await runJob(engine, short);
  await raw.run(short);
  const pairs = await rounds(async (round) => {
    // Who goes first changes, so that a drifting machine favours neither.
    if (round % 2 === 0) return { ours: await sides.ours(), raw: await sides.raw() };
    const first = await sides.raw();
    return { ours: await sides.ours(), raw: first };
  });
  const tokensAStep = job.kind === "prefill" ? CHUNK : job.batch;
  const rate = (runs: readonly Run[]): number => median(runs.map((run) => (tokensAStep * 1000) / mean(run.stepMs)));
  return {
    model,
    what: job.kind,
    batch: job.kind === "prefill" ? 1 : job.batch,
    tokens: job.kind === "prefill" ? job.tokens : job.steps,
    tokensPerSecond: rate(pairs.map((pair) => pair.ours)),
    rawTokensPerSecond: rate(pairs.map((pair) => pair.raw)),
    ...compareRuns(pairs),
  };
}

async function prefix(model: string, engine: LlamaEngine, tokens: number): Promise<PrefixRow> {
  const times = await rounds(() => movePrefix(engine, tokens));
  const of = (key: keyof (typeof times)[number]): number => median(times.map((t) => t[key]));
  const [recomputeMs, restoreMs] = [of("recomputeMs"), of("restoreMs")];
  return {
    model,
    what: "prefix",
    tokens,
    rounds: times.length,
    recomputeMs,
    saveMs: of("saveMs"),
    restoreMs,
    bytes: of("bytes"),
    ratio: recomputeMs / restoreMs,
  };
}

async function rounds<T>(round: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  const started = performance.now();
  while (results.length < size.least || (results.length < size.most && performance.now() - started < size.budgetMs)) {
    results.push(await round(results.length));
  }
  return results;
}
