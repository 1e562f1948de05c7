import { readFileSync } from "node:fs";
import { fitCpuProfile, measurementsOfBench, type CpuMeasurements, type Profile } from "@topas/sim";
import type { LlamaEngine } from "@topas/engines/llama";
import { cacheDirectory, type MadeModel } from "../engine-choice.ts";
import { measureLlama, type MeasureSizes } from "./measure-llama.ts";
import { measureServed, whileServed, type Served } from "./served.ts";

export const FULL: MeasureSizes = { long: 2048, steps: 48, rounds: 4 };
export const QUICK: MeasureSizes = { long: 1024, steps: 24, rounds: 2 };

/** Room for a long prefix and a batch beside it. */
const CALIBRATION_CELLS = 5120;

/** A profile file of `topas sim calibrate`: also says what a call costs outside the engine. */
export interface CalibratedProfile {
  readonly profile: Profile;
  readonly frontendMs: number;
}

export interface Calibration extends CalibratedProfile {
  readonly measured: CpuMeasurements;
  /** How much slower the engine is while it is served; in the profile already. */
  readonly served: Served;
  readonly seconds: number;
}

/**
 * The embedded engine's cost model on this machine, now. With rows of the engine bench, those stand for what they measured (decode
 * beside nothing, prefill, copies) and the engine is asked only for the rest.
 */
export async function calibrate(model: MadeModel, sizes: MeasureSizes, benchFile: string | null): Promise<Calibration> {
  const started = performance.now();
  const bench = benchFile === null ? null : measurementsOfBench(JSON.parse(readFileSync(benchFile, "utf8")), model);
  const [alone, measured] = await calibrateAlone(model, sizes, bench);
  const served = await measureServed(await openLlama(model, CALIBRATION_CELLS), alone, sizes.rounds);
  const { frontendMs } = served;
  return { profile: whileServed(alone, served), frontendMs, measured, served, seconds: (performance.now() - started) / 1000 };
}

async function calibrateAlone(
  model: MadeModel,
  sizes: MeasureSizes,
  bench: CpuMeasurements | null,
): Promise<readonly [Profile, CpuMeasurements]> {
  const engine = await openLlama(model, CALIBRATION_CELLS);
  try {
    const { kvBytesPerToken } = await engine.start();
    const direct = await measureLlama(engine, sizes);
    const measured = bench === null ? direct : join(bench, direct);
    const { chunkTokens, maxRunning } = engine.options;
    const facts = { kvBytesPerToken: kvBytesPerToken ?? 1, kvTokens: 8192, chunkTokens, maxSequences: maxRunning };
    const name = `${model}-cpu-calibrated`;
    return [fitCpuProfile({ ...facts, name, description: describe(model) }, measured), measured];
  } finally {
    await engine.close();
  }
}

export async function openLlama(model: MadeModel, kvTokens: number): Promise<LlamaEngine> {
  const { LlamaEngine, ensureModel } = await import("@topas/engines/llama");
  return new LlamaEngine({ modelPath: await ensureModel(model, cacheDirectory()), kvTokens });
}

/** Decodes alone and copies from the bench where it has any; short prompts and what lies beside others, from the direct measurement. */
function join(bench: CpuMeasurements, direct: CpuMeasurements): CpuMeasurements {
  const or = <T>(one: readonly T[], other: readonly T[]): readonly T[] => (one.length > 0 ? one : other);
  const beside = direct.decodes.filter(({ residentTokens, contextTokens }) => residentTokens > contextTokens);
  const reads = direct.decodes.filter(({ sequences, contextTokens }) => sequences === 1 && contextTokens > 256);
  const sizes = new Set(bench.decodes.map(({ sequences }) => sequences));
  const known = [...beside, ...reads].filter(({ sequences }) => sizes.has(sequences));
  return {
    decodes: bench.decodes.length > 0 ? [...bench.decodes, ...known] : direct.decodes,
    prefills: [...bench.prefills, ...direct.prefills],
    saves: or(bench.saves, direct.saves),
    restores: or(bench.restores, direct.restores),
    hostMs: or(bench.hostMs, direct.hostMs),
  };
}

function describe(model: string): string {
  return `Embedded llama.cpp engine, made model ${model} (random weights), one thread: fitted on this host by topas sim calibrate. NOT a published measurement.`;
}
