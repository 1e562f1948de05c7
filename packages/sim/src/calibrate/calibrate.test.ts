import { describe, expect, test } from "vitest";
import { readProfile } from "../../bench/read-profile.ts";
import { stepTimer } from "../model/step-time.ts";
import { parseProfile } from "../model/profile.ts";
import { measurementsOfBench } from "./bench-rows.ts";
import { fitCpuProfile, fitCpuStep } from "./fit-cpu.ts";
import { NO_MEASUREMENTS, prefillShape, together, type CpuMeasurements } from "./measurements.ts";
import { fitNonNegative } from "./non-negative.ts";

const placeholder = readProfile("tiny5m-cpu");
const truth = { ...placeholder, step: { ...placeholder.step, prefillMsPerStep: 3 } } as typeof placeholder;
const time = stepTimer(truth);
const nothing = { prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: 0, contextTokens: 0, residentTokens: 0 };

/** What a run on an engine of exactly this profile would measure. */
function measured(): CpuMeasurements {
  const decodes = [1, 4, 8].flatMap((sequences) =>
    [0, 2_000].flatMap((others) =>
      [64, 500].map((context) => {
        const shape = { contextTokens: sequences * context, residentTokens: sequences * context + others };
        return { sequences, ...shape, ms: 1000 * time({ ...nothing, decodes: sequences, ...shape }) };
      }),
    ),
  );
  const prefills = [0, 1_000].flatMap((others) =>
    [0, 256, 1_024].flatMap((history) =>
      [40, 256].map((tokens) => {
        const shape = prefillShape(tokens, 256, history, others);
        const residentTokens = others + history + tokens;
        const ms = 1000 * time({ ...nothing, prefillTokens: tokens, chunks: 1, prefillWork: shape.work, residentTokens });
        return { ...shape, ms };
      }),
    ),
  );
  const copy = [{ bytes: 3_072_000, ms: 1 }];
  return { decodes, prefills, saves: copy, restores: copy, hostMs: [0] };
}

test("an engine that behaves as its profile is found again", () => {
  const fitted = fitCpuStep(measured()) as unknown as Record<string, number>;
  for (const [name, value] of Object.entries(truth.step))
    if (typeof value === "number") expect(fitted[name], name).toBeCloseTo(value, 9);
});

test("the profile of a calibration can be read back", () => {
  const facts = { name: "mine", description: "x", kvBytesPerToken: 3_072, kvTokens: 4_096, chunkTokens: 256, maxSequences: 16 };
  const profile = fitCpuProfile(facts, measured());
  expect(parseProfile(JSON.parse(JSON.stringify(profile)))).toEqual(profile);
  expect(profile.transfer.hostToDeviceBytesPerSecond).toBeCloseTo(3.072e9, 0);
  expect(() => fitCpuProfile(facts, { ...measured(), restores: [] })).toThrow("no restores");
  expect(() => fitCpuStep(NO_MEASUREMENTS)).toThrow("no decode steps");
});

describe("rows of the engine bench", () => {
  const rows = [
    { model: "m", what: "decode", batch: 4, tokens: 64, stepMs: 1.1, insideMs: 1 },
    { model: "m", what: "prefill", batch: 1, tokens: 1_024, stepMs: 31, insideMs: 30 },
    { model: "m", what: "prefix", tokens: 1_024, recomputeMs: 130, saveMs: 2, restoreMs: 1, bytes: 3_072 },
    { model: "other", what: "decode" },
  ];

  test("become samples", () => {
    const found = measurementsOfBench({ rows }, "m");
    expect(found.decodes).toEqual([{ sequences: 4, contextTokens: 256, residentTokens: 256, ms: 1 }]);
    expect(found.prefills.map(({ tokens, ms }) => [tokens, ms])).toEqual([
      [768, 90],
      [1_024, 130],
    ]);
    expect([found.saves, found.restores]).toEqual([[{ bytes: 3_072, ms: 2 }], [{ bytes: 3_072, ms: 1 }]]);
    expect(found.hostMs[0]).toBeCloseTo(0.1, 9);
    expect(together([found, found]).decodes.length).toBe(2);
  });

  test("say what is wrong with them", () => {
    expect(() => measurementsOfBench({ rows }, "nobody")).toThrow("no rows of model nobody");
    expect(() => measurementsOfBench({ rows }, "other")).toThrow("bench row decode: batch");
    expect(() => measurementsOfBench([], "m")).toThrow("not the JSON");
  });
});

test("a coefficient that would be negative is zero", () => {
  const rows = [1, 2, 3, 4].map((x) => [x, x * x]);
  const found = fitNonNegative(rows, [1, 1.9, 2.8, 3.6]);
  expect(found[1]).toBe(0);
  expect(found[0]).toBeGreaterThan(0.9);
  expect(() => fitNonNegative([], [])).toThrow("nothing to fit");
});
