import type { CpuMeasurements, DecodeSample, PrefillSample } from "./measurements.ts";
import { NO_MEASUREMENTS, prefillShape, together } from "./measurements.ts";

/** Settings of `npm run bench:engine`: chunk of a prefill step, tokens before the first decode. */
const CHUNK = 256;
const DECODE_PROMPT = 32;

/** Rows of `npm run bench:engine -- --json` for one model. @throws RangeError when there are none. */
export function measurementsOfBench(json: unknown, model: string): CpuMeasurements {
  const rows = (json as { readonly rows?: unknown } | null)?.rows;
  if (!Array.isArray(rows)) throw new RangeError("not the JSON of bench:engine: no rows");
  const mine = (rows as Record<string, unknown>[]).filter((row) => row["model"] === model);
  if (mine.length === 0) throw new RangeError(`bench:engine has no rows of model ${model}`);
  return together(mine.map(measurementsOfRow));
}

function measurementsOfRow(row: Record<string, unknown>): CpuMeasurements {
  const at = (name: string): number => {
    const value = row[name];
    if (typeof value !== "number" || !Number.isFinite(value)) throw new RangeError(`bench row ${String(row["what"])}: ${name}`);
    return value;
  };
  if (row["what"] === "decode") {
    const sequences = at("batch");
    const contextTokens = sequences * (DECODE_PROMPT + at("tokens") / 2);
    const decode: DecodeSample = { sequences, contextTokens, residentTokens: contextTokens, ms: at("insideMs") };
    return { ...NO_MEASUREMENTS, decodes: [decode], hostMs: [at("stepMs") - at("insideMs")] };
  }
  if (row["what"] === "prefill") {
    // All steps but the first are timed; the mean step is told.
    const tokens = at("tokens") - CHUNK;
    const shape = prefillShape(tokens, CHUNK, CHUNK);
    const prefill: PrefillSample = { ...shape, ms: (at("insideMs") * tokens) / CHUNK };
    return { ...NO_MEASUREMENTS, prefills: [prefill] };
  }
  if (row["what"] !== "prefix") return NO_MEASUREMENTS;
  const bytes = at("bytes");
  return {
    ...NO_MEASUREMENTS,
    prefills: [{ ...prefillShape(at("tokens"), CHUNK), ms: at("recomputeMs") }],
    saves: [{ bytes, ms: at("saveMs") }],
    restores: [{ bytes, ms: at("restoreMs") }],
  };
}
