import { expect, test } from "vitest";
import { readProfile } from "../../bench/read-profile.ts";
import { table1 } from "./table1.ts";
import { toy } from "./toy.ts";

test("Fig. 2 cell by cell", () => {
  const [srpt, lpm] = toy();
  const cells = (row: typeof srpt): string => row!.intervals.map(({ call, start, end }) => `${call} ${start}-${end}`).join(", ");
  expect(cells(srpt)).toBe("A1 0-5, B1 5-10, C1 10-15, A2 15-20, B2 20-25, C2 25-30");
  expect(srpt).toMatchObject({ completions: [15, 30], jct: [15, 28], meanJct: 21.5, makespan: 30, setups: 6 });
  expect(cells(lpm)).toBe("A1 0-5, A2 5-9, B1 9-14, B2 14-18, C1 18-23, C2 23-27");
  expect(lpm).toMatchObject({ completions: [23, 27], jct: [23, 25], meanJct: 24, makespan: 27, setups: 3 });
});

test("Table I within the bars of both presets", () => {
  const rows = table1(readProfile("qwen2.5-32b-a100"));
  expect(rows.map(({ requests }) => requests)).toEqual([100, 150, 200, 100, 150, 200]);
  for (const { preset, ratio, batchRatio, grouped, alternating, paper } of rows) {
    const linear = preset === "topas-table1-linear";
    expect(ratio).toBeGreaterThan(linear ? 1.7 : 1.5);
    expect(ratio).toBeLessThan(2);
    expect(batchRatio).toBeGreaterThan(linear ? 1.9 : 1.6);
    expect(batchRatio).toBeLessThan(2.4);
    expect(Math.abs(alternating.makespanSeconds / paper.alternating - 1)).toBeLessThan(linear ? 0.1 : 0.05);
    if (linear) expect(Math.abs(grouped.makespanSeconds / paper.grouped - 1)).toBeLessThan(0.1);
  }
});
