import type { EntryId } from "@topas/core";
import type { EngineCommand, Sampling } from "@topas/engines";
import type { LlamaEngine } from "@topas/engines/llama";
import { prefillShape, together, type CpuMeasurements } from "@topas/sim";

const GREEDY: Sampling = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: true };
const NOTHING: CpuMeasurements = { decodes: [], prefills: [], saves: [], restores: [], hostMs: [] };
const SHORT_PROMPT = 32;
const BATCHES = [1, 2, 4, 8];

export interface MeasureSizes {
  /** Tokens of the prompt, and of the prefix that lies beside other work. */
  readonly long: number;
  readonly steps: number;
  readonly rounds: number;
}

/** Alone and beside a resident prefix, so that what others keep in the cache can be told from what a call reads itself. */
export async function measureLlama(engine: LlamaEngine, sizes: MeasureSizes): Promise<CpuMeasurements> {
  const { long, steps, rounds } = sizes;
  await calls(engine, 1, SHORT_PROMPT, 4, 0);
  const all: CpuMeasurements[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const batch of BATCHES) all.push(await calls(engine, batch, SHORT_PROMPT, steps, 0));
    for (const short of [48, 96, 192]) all.push(await calls(engine, 1, short, 1, 0));
    all.push(await calls(engine, 1, long, steps, 0), await calls(engine, 4, long / 4, steps, 0));
    const moved = await movePrefix(engine, long, round);
    all.push(moved.measured);
    for (const batch of BATCHES) all.push(await calls(engine, batch, SHORT_PROMPT, steps, long));
    all.push(await calls(engine, 1, long / 2, 1, long));
    await command(engine, { op: "evict", entry: moved.entry, keepHost: false });
  }
  return together(all);
}

/** `batch` calls of `prompt` tokens that decode `steps` steps together, beside `others` resident tokens. */
async function calls(
  engine: LlamaEngine,
  batch: number,
  prompt: number,
  steps: number,
  others: number,
): Promise<CpuMeasurements> {
  const seen: { readonly at: number; readonly ms: number; readonly decodes: number; readonly prefilled: number }[] = [];
  const stop = engine.subscribe((event) => {
    if (event.kind !== "step") return;
    const prefilled = event.deltas.reduce((sum, delta) => sum + delta.prefilled, 0);
    const decodes = event.deltas.filter(({ decoded }) => decoded > 0).length;
    seen.push({ at: performance.now(), ms: event.ms, decodes, prefilled });
  });
  // Calls reach the engine one after another: the first ones decode alone until the last one is in.
  const maxTokens = steps + 2 + 2 * batch;
  await Promise.all(Array.from({ length: batch }, (_, i) => generate(engine, words(prompt, 7 * prompt + i), maxTokens)));
  stop();
  const decodes = seen.filter((step) => step.prefilled === 0 && step.decodes === batch);
  const prefills = seen.filter((step) => step.prefilled > 0);
  const contextTokens = batch * (prompt + steps / 2);
  const chunk = engine.options.chunkTokens;
  const wall = decodes.slice(1).map(({ at, ms }, i) => Math.max(0, at - decodes[i]!.at - ms));
  return {
    ...NOTHING,
    decodes:
      decodes.length < steps / 2
        ? []
        : [{ sequences: batch, contextTokens, residentTokens: contextTokens + others, ms: mean(decodes.map(({ ms }) => ms)) }],
    prefills:
      batch > 1 || prompt === SHORT_PROMPT
        ? []
        : [{ ...prefillShape(prompt, chunk, 0, others), ms: sum(prefills.map(({ ms }) => ms)) }],
    hostMs: wall.length === 0 ? [] : [mean(wall)],
  };
}

/** Computes a prefix, saves it to the host tier and brings it back; it stays. */
async function movePrefix(
  engine: LlamaEngine,
  tokens: number,
  salt: number,
): Promise<{ readonly entry: EntryId; readonly measured: CpuMeasurements }> {
  const prompt = [...words(tokens + 1, 1_000 + salt)];
  const { prefix } = await engine.prepare({ kind: "text", tenant: "calibrate", prompt, prefixTokens: tokens });
  if (prefix === null) throw new Error("the engine found no prefix");
  const entry: EntryId = `prefix:${prefix.id}`;
  const computed = await command(engine, { op: "load", entry });
  const save = await command(engine, { op: "evict", entry, keepHost: true });
  const restore = await command(engine, { op: "load", entry });
  const shape = prefillShape(prefix.tokens, engine.options.chunkTokens);
  const copy = { bytes: restore.bytes };
  return {
    entry,
    measured: {
      ...NOTHING,
      prefills: [{ ...shape, ms: computed.ms }],
      saves: [{ ...copy, ms: save.ms }],
      restores: [{ ...copy, ms: restore.ms }],
    },
  };
}

async function command(engine: LlamaEngine, one: EngineCommand): Promise<{ readonly ms: number; readonly bytes: number }> {
  const started = performance.now();
  const [answer] = await engine.apply([one]);
  if (answer?.outcome !== "enforced") throw new Error(`${one.op}: ${answer?.outcome ?? "no answer"}`);
  return { ms: performance.now() - started, bytes: answer.bytes };
}

let unique = 0;

function generate(engine: LlamaEngine, tokens: Int32Array, maxTokens: number): Promise<void> {
  const prompt = { tokens, promptTokens: tokens.length, exact: true, prefix: null };
  return new Promise((resolve, reject) => {
    engine.submit(
      { id: `calibrate-${unique++}`, prompt, maxTokens, sampling: GREEDY, stop: [], session: null, http: null },
      {
        token: () => undefined,
        end: ({ reason, error }) => (reason === "length" ? resolve() : reject(new Error(error?.message ?? reason))),
      },
    );
  });
}

/** Ordinary words of every made model; whatever they are, the work is the same. */
function words(count: number, salt: number): Int32Array {
  return Int32Array.from({ length: count }, (_, i) => 400 + ((i * 37 + salt * 101 + ((i * i) % 13)) % 600));
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
const mean = (values: readonly number[]): number => sum(values) / values.length;
