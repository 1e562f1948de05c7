import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { readProfile } from "../../bench/read-profile.ts";
import { parseProfile } from "./profile.ts";
import { decodeSeconds, prefillSeconds, stepTimer } from "./step-time.ts";
import { denseTable, tableMs } from "./table.ts";
import { CopyChannel } from "./transfer.ts";

const profile = readProfile("qwen2.5-32b-a100");

test("every shipped profile parses, names its sources and a default budget", () => {
  const folder = fileURLToPath(new URL("../../profiles", import.meta.url));
  const names = readdirSync(folder).filter((name) => name.endsWith(".json") && name !== "serving-points.json");
  expect(names.length).toBeGreaterThanOrEqual(7);
  for (const file of names) {
    const one = readProfile(file.slice(0, -".json".length));
    expect(`${one.name}.json`).toBe(file);
    expect(decodeSeconds(one, 1, 100)).toBeGreaterThan(0);
    if (/h100|h200|7b/.test(one.name)) expect(one.description).toContain("NOT validated");
  }
});

test("a broken profile names the field", () => {
  expect(() => parseProfile({ ...profile, sources: [] })).toThrow("sources are missing");
  expect(() => parseProfile({ ...profile, kvBudgetTokens: {} })).toThrow("kvBudgetTokens.default");
});

test("tables interpolate, and are proportional above their end", () => {
  const table = [
    [1, 10],
    [3, 20],
    [4, 40],
  ] as const;
  expect([1, 2, 3, 4, 8].map((n) => tableMs(table, n))).toEqual([10, 15, 20, 40, 80]);
  expect(tableMs(table, 8, "flat")).toBe(40);
  expect([0, 1, 2, 3, 4, 8].map(denseTable(table))).toEqual([10, 10, 15, 20, 40, 80]);
});

test("attention above 64 sequences pays for mixed lengths", () => {
  const load = { prefillTokens: 0, chunks: 0, prefillWork: 0, residentTokens: 0 };
  const at = (decodes: number): number => stepTimer(profile)({ ...load, decodes, contextTokens: 100_000 });
  const host = (20e-6 * 1) as number;
  const read = (100_000 * profile.kvBytesPerToken) / 1.5e12;
  expect(at(65) - at(64)).toBeGreaterThan(0.15 * read);
  expect(at(64) - at(63)).toBeLessThan(0.01 * read + host + 1e-4);
});

test("the embedded engine pays for length squared and for what others keep resident", () => {
  const cpu = readProfile("tiny5m-cpu");
  expect(cpu.status).toBe("placeholder");
  for (const [tokens, ms] of [
    [1_024, 130],
    [2_048, 500],
    [4_096, 1_800],
  ] as const)
    expect(Math.abs((prefillSeconds(cpu, tokens) * 1000) / ms - 1)).toBeLessThan(0.1);
  const whole = prefillSeconds({ ...cpu, step: { ...cpu.step, residencyMicrosPerPrefillToken: 0 } as typeof cpu.step }, 2_048);
  const halves = [0, 1_024].reduce(
    (sum, history) =>
      sum +
      prefillSeconds({ ...cpu, step: { ...cpu.step, residencyMicrosPerPrefillToken: 0 } as typeof cpu.step }, 1_024, history),
    0,
  );
  expect(halves).toBeCloseTo(whole, 9);
  const step = { prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: 1, contextTokens: 64 };
  expect(stepTimer(cpu)({ ...step, residentTokens: 11_264 })).toBeGreaterThan(
    2 * stepTimer(cpu)({ ...step, residentTokens: 64 }),
  );
});

test("copies queue on one channel", () => {
  const channel = new CopyChannel(profile, "pcie");
  const one = channel.copy(4_096, "toDevice", 0);
  expect(one).toBeCloseTo(0.0448, 3);
  expect(channel.copy(4_096, "toHost", 0)).toBeCloseTo(2 * one, 9);
  expect(channel.movedBytes).toBe(2 * 4_096 * profile.kvBytesPerToken);
});
