import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readJson, readProfile } from "../../bench/read-profile.ts";
import type { Facts, ServingPoint, ValidationRow } from "./facts.ts";
import { servingRows } from "./serving.ts";
import { traceRows } from "./trace.ts";
import { closedFormRows, validate } from "./validate.ts";

const facts = readJson("../profiles/serving-points.json") as Facts;
const names = ["qwen2.5-32b-a100", "qwen3-32b-a100", "qwen3-14b-a100", "llama-3.1-8b-rtx4090"];
const profiles = Object.fromEntries(names.map((name) => [name, readProfile(name)]));
const twin = profiles["qwen3-32b-a100"]!;
const bars = facts.serving.filter(
  (point) => point.profile === twin.name && point.lengths.kind === "fixed" && Object.keys(point.tolerancePct).length > 0,
);
const misses = (rows: readonly ValidationRow[]): string[] =>
  rows.filter(({ pass }) => pass === false).map((row) => `${row.case}: ${row.metric}`);

/** The table behind these three cells still had the raw row of 128 tokens (49.9 ms); the profile has the monotone one (52.4 ms). */
const KNOWN_MISSES = [1_024, 4_096, 8_192].map((cached) => `prefill ${cached} cached + 128: stepMs`);

test("closed forms of one step, within 1 %", () => {
  expect(misses(closedFormRows(facts, profiles["qwen2.5-32b-a100"]!))).toEqual(KNOWN_MISSES);
});

test.each(bars.map((point) => [point.case, point] as const))("published run within its bars: %s", (_name, point) => {
  expect(misses(servingRows(point, twin))).toEqual([]);
});

test("without the hash of freed blocks rows two and three fail by far", () => {
  const off = { vllm: { freedKeepHash: false } };
  const total = (point: ServingPoint): number => servingRows(point, twin, off)[0]!.errorPct;
  expect(total(bars[1]!)).toBeCloseTo(37, -1);
  expect(total(bars[2]!)).toBeCloseTo(170, -1);
});

test("the admission rule of 0.19 breaks the p99 of row three", () => {
  const rows = servingRows({ ...bars[2]!, rules: "vllm-0.19" }, twin);
  expect(rows.find(({ metric }) => metric === "itlP99Ms")!.errorPct).toBeLessThan(-85);
});

test("drawn lengths: total, median, mean and first token within the bars for every seed", () => {
  const rows = facts.serving.filter((point) => point.lengths.kind === "lognormal").flatMap((point) => servingRows(point, twin));
  const noisy = new Set(["itlP99Ms", "peakTokensPerSecond"]);
  expect(misses(rows.filter(({ metric }) => !noisy.has(metric)))).toEqual([]);
  for (const row of rows.filter(({ metric }) => noisy.has(metric))) expect(Math.abs(row.errorPct)).toBeLessThan(20);
});

test("validate prints hold-outs without judging them", () => {
  const rows = validate({
    facts: { ...facts, serving: facts.serving.filter(({ case: name }) => name.startsWith("hold-out")) },
    profiles,
  });
  const holdOuts = rows.filter((row) => row.case.startsWith("hold-out"));
  expect(holdOuts.length).toBe(5);
  for (const row of holdOuts) expect(row.pass).toBeNull();
});

const folder = process.env["TOPAS_DATA"] ?? fileURLToPath(new URL("../../../../../shared/data", import.meta.url));
const measured = `${folder}/calibration/llmservingsim_vllm_RTX4090_Llama-3.1-8B_requests.jsonl.gz`;
const present = existsSync(measured);
test.skipIf(!present)(`RTX 4090 run request by request${present ? "" : " (skipped: calibration data folder is absent)"}`, () => {
  const rows = traceRows(facts.trace, profiles["llama-3.1-8b-rtx4090"]!, gunzipSync(readFileSync(measured)).toString());
  expect(rows.length).toBe(9);
  expect(misses(rows)).toEqual([]);
});
