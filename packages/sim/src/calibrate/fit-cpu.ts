import type { CpuStep, Profile } from "../model/profile.ts";
import { mean, quantile } from "../stats.ts";
import { fitNonNegative } from "./non-negative.ts";
import type { CopySample, CpuMeasurements } from "./measurements.ts";

export interface CpuFacts {
  readonly name: string;
  readonly description: string;
  readonly kvBytesPerToken: number;
  readonly kvTokens: number;
  readonly chunkTokens: number;
  readonly maxSequences: number;
}

/** The embedded engine's profile on the machine that was measured. @throws RangeError naming what is missing. */
export function fitCpuProfile(facts: CpuFacts, measured: CpuMeasurements): Profile {
  const { name, description, kvBytesPerToken, kvTokens, chunkTokens, maxSequences } = facts;
  const restore = bytesPerSecond(measured.restores, "restores");
  return {
    name,
    description,
    status: "inferred",
    sources: [
      { what: "step times and copies, fitted by topas sim calibrate", source: "measured on this host", licence: "Apache-2.0" },
    ],
    kvBytesPerToken,
    blockTokens: 1,
    kvBudgetTokens: { default: kvTokens },
    step: fitCpuStep(measured),
    limits: { chunkTokens, maxPrefillTokens: chunkTokens, batchTokens: chunkTokens, maxSequences },
    transfer: {
      hostToDeviceBytesPerSecond: restore,
      deviceToHostBytesPerSecond: bytesPerSecond(measured.saves, "saves"),
      baseMicros: 0,
      slowBytesPerSecond: restore,
    },
  };
}

/** Decode: one time for each batch size measured, a cost of tokens read and a tax on those of others. Prefill: a step, a*n + b*n^2, the tax. */
export function fitCpuStep({ decodes, prefills, hostMs }: CpuMeasurements): CpuStep {
  const sizes = [...new Set(decodes.map(({ sequences }) => sequences))].toSorted((a, b) => a - b);
  if (sizes.length === 0) throw new RangeError("no decode steps were measured");
  const decode = fitNonNegative(
    decodes.map(({ sequences, contextTokens, residentTokens }) => [
      ...sizes.map((size) => (size === sequences ? 1 : 0)),
      contextTokens,
      Math.max(0, residentTokens * sequences - contextTokens),
    ]),
    decodes.map(({ ms }) => ms),
  );
  if (prefills.length === 0) throw new RangeError("no prefills were measured");
  const [constant, linear, squared, beside] = fitNonNegative(
    prefills.map(({ steps, tokens, work, besideTokens }) => [steps, tokens, work, besideTokens]),
    prefills.map(({ ms }) => ms),
  );
  return {
    kind: "cpu",
    decodeMs: sizes.map((size, i) => [size, decode[i]!] as const),
    decodeMicrosPerContextToken: 1000 * decode[sizes.length]!,
    residencyMicrosPerSequenceToken: 1000 * decode[sizes.length + 1]!,
    prefillMsPerStep: constant!,
    prefillMsPerToken: linear!,
    prefillMsPerTokenSquared: squared! / 2,
    residencyMicrosPerPrefillToken: 1000 * beside!,
    hostMs: hostMs.length === 0 ? 0 : Math.max(0, quantile(hostMs, 0.5)),
  };
}

function bytesPerSecond(copies: readonly CopySample[], what: string): number {
  if (copies.length === 0) throw new RangeError(`no ${what} were measured`);
  return mean(copies.map(({ bytes, ms }) => bytes / (ms / 1000)));
}
