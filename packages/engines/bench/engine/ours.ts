/** The embedded engine under the same jobs, timed from outside by the step events it sends. */
import type { EntryId } from "@topas/core";
import type { CommandOutcome, EngineCommand, Sampling } from "../../src/engine.ts";
import type { LlamaEngine } from "../../src/llama/index.ts";
import type { Job, Run } from "./jobs.ts";
import { countedSteps, DECODE_PROMPT, words } from "./jobs.ts";
import { median } from "./report.ts";

const GREEDY: Sampling = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: true };
let unique = 0;

/** Times {@link attempt} again when the calls of a batch came in too far apart to be all at work for so many steps. */
export async function runJob(engine: LlamaEngine, job: Job): Promise<Run> {
  for (let tries = 0; tries < 20; tries++) {
    const run = await attempt(engine, job);
    if (run !== null) return run;
  }
  throw new Error(`the engine never took the steps of ${JSON.stringify(job)}`);
}

/** The clock starts with the report of the first step that does the job and nothing else; the steps after it are the run. */
async function attempt(engine: LlamaEngine, job: Job): Promise<Run | null> {
  const seen = record(engine);
  if (job.kind === "prefill") await generate(engine, words(job.tokens, 1), 1);
  else {
    const maxTokens = job.steps + 2 + 2 * job.batch;
    await Promise.all(Array.from({ length: job.batch }, (_, i) => generate(engine, words(DECODE_PROMPT, i), maxTokens)));
  }
  const decodes = job.kind === "prefill" ? -1 : job.batch;
  const all = seen();
  const from = all.findIndex((step) => step.decodes === decodes);
  const [first, ...run] = all.slice(from, from + 1 + countedSteps(job));
  if (first === undefined || run.length < countedSteps(job) || run.some((step) => step.decodes !== decodes)) return null;
  return {
    stepMs: run.map(({ ended }, i) => ended - (run[i - 1] ?? first).ended),
    insideMs: run.map(({ ms }) => ms),
  };
}

export interface PrefixTimes {
  readonly recomputeMs: number;
  readonly saveMs: number;
  readonly restoreMs: number;
  readonly bytes: number;
}

/** A prefix computed, saved to the host tier, restored and dropped; each timed from the command to its answer. */
export async function movePrefix(engine: LlamaEngine, tokens: number): Promise<PrefixTimes> {
  // Preparing a prompt makes the prefix known, and computes nothing.
  const { prefix } = await engine.prepare({
    kind: "text",
    tenant: "bench",
    prompt: [...words(tokens + 1, 2)],
    prefixTokens: tokens,
  });
  if (prefix === null) throw new Error("the engine found no prefix");
  const entry: EntryId = `prefix:${prefix.id}`;
  const recompute = await load(engine, entry, prefix.tokens);
  const save = await timed(engine, { op: "evict", entry, keepHost: true });
  const restore = await load(engine, entry, 0);
  await timed(engine, { op: "evict", entry, keepHost: false });
  return { recomputeMs: recompute.ms, saveMs: save.ms, restoreMs: restore.ms, bytes: restore.outcome.bytes };
}

/** Fails when the engine did not compute as many tokens as it should have. */
async function load(engine: LlamaEngine, entry: EntryId, computed: number): ReturnType<typeof timed> {
  let found = -1;
  const stop = engine.subscribe((event) => {
    if (event.kind === "loaded" && event.entry === entry) found = event.computedTokens;
  });
  const result = await timed(engine, { op: "load", entry });
  stop();
  if (found !== computed) throw new Error(`load of ${entry} computed ${found} tokens, not ${computed}`);
  return result;
}

async function timed(engine: LlamaEngine, command: EngineCommand): Promise<{ ms: number; outcome: CommandOutcome }> {
  const started = performance.now();
  const [outcome] = await engine.apply([command]);
  const ms = performance.now() - started;
  if (outcome?.outcome !== "enforced") throw new Error(`${command.op}: ${outcome?.outcome ?? "no answer"}`);
  return { ms, outcome };
}

interface Step {
  /** When the engine process was done with it. */
  ended: number;
  readonly ms: number;
  /** Calls with one decoded token; -1 when the step also prefilled. */
  readonly decodes: number;
}

/**
 * Collects steps until the returned function is called. The engine may report several steps at once, and a busy machine delivers
 * reports late. So the time between two reports is shared among the steps of the second one, each its `ms` and an equal part of
 * the rest; and a report is taken to be no later than the ones after it allow, whose steps took their `ms` and the usual rest.
 */
function record(engine: LlamaEngine): () => readonly Step[] {
  const reports: { at: number; readonly steps: Step[] }[] = [];
  const stop = engine.subscribe((event) => {
    if (event.kind !== "step") return;
    const at = performance.now();
    const decodes = event.deltas.every((d) => d.decoded === 1 && d.prefilled === 0) ? event.deltas.length : -1;
    const step = { ended: at, ms: event.ms, decodes };
    const report = reports.at(-1);
    if (report !== undefined && at - report.at < SAME_REPORT_MS) report.steps.push(step);
    else reports.push({ at, steps: [step] });
  });
  return () => {
    stop();
    const rests = reports.slice(1).map(({ at, steps }, i) => (at - (reports[i]?.at ?? at) - insideOf(steps)) / steps.length);
    const usualRest = rests.length === 0 ? 0 : Math.max(0, median(rests));
    for (let i = reports.length - 2; i >= 0; i--) {
      const [report, next] = [reports[i], reports[i + 1]];
      if (report === undefined || next === undefined) continue;
      report.at = Math.min(report.at, next.at - insideOf(next.steps) - usualRest * next.steps.length);
    }
    let before: number | undefined;
    for (const { at, steps } of reports) {
      const rest = before === undefined ? 0 : (at - before - insideOf(steps)) / steps.length;
      let ended = before ?? at - insideOf(steps);
      for (const step of steps) step.ended = ended += step.ms + rest;
      before = at;
    }
    return reports.flatMap(({ steps }) => steps);
  };
}

/** Steps of one report are told in one go; two reports are at least a step apart. */
const SAME_REPORT_MS = 0.05;

const insideOf = (steps: readonly Step[]): number => steps.reduce((sum, step) => sum + step.ms, 0);

function generate(engine: LlamaEngine, tokens: Int32Array, maxTokens: number): Promise<void> {
  const prompt = { tokens, promptTokens: tokens.length, exact: true, prefix: null };
  return new Promise((resolve, reject) => {
    engine.submit(
      { id: `bench-${unique++}`, prompt, maxTokens, sampling: GREEDY, stop: [], session: null, http: null },
      {
        token: () => undefined,
        end: ({ reason, error }) => (reason === "length" ? resolve() : reject(new Error(error?.message ?? reason))),
      },
    );
  });
}
