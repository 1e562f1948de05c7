import { expect, it } from "vitest";
import { profileKeys, emptyProfile, observeCall, observeStage, settleFactor } from "./profile.ts";
import { buildTable, extendTable, type SampleTable } from "./table.ts";

const speeds = { prefillSecondsPerToken: 3e-4, decodeSecondsPerToken: 0.05, kvBytesPerToken: 1, copyBytesPerSecond: 1 };
const keys = profileKeys("x", "a", "s");

const rows = ({ count, set, grown, areaFixed, areaLinear, areaSquare, factor, source }: SampleTable): unknown[] => [
  count,
  set.count,
  source?.seen,
  ...[set.service, set.area, set.fixed, grown, areaFixed, areaLinear, areaSquare, factor, source!.slots].map((column) =>
    Array.from(column.subarray(0, count)),
  ),
];

it("a table that took new records in place is the table built anew, also once the ring goes round and where lengths tie", () => {
  const profile = emptyProfile();
  let seed = 1;
  const learn = (): void => {
    seed = (seed * 48_271) % 2_147_483_647;
    const [q, o] = [100 * (seed % 5), seed % 40];
    observeCall(profile, keys, q, o);
    const marks = observeStage(profile, keys, [q, o, q * o, o * o, q * q, 1, 1], q + o);
    if (seed % 3 === 0) settleFactor(profile, keys, marks, 0.5 + (seed % 7) / 4);
  };
  for (let i = 0; i < 8; i++) learn();
  let table = buildTable(profile, keys, speeds, 1, true);
  let taken = 0;
  for (let i = 0; i < 400; i++) {
    for (let n = 0; n <= i % 5; n++) learn();
    if (extendTable(table, profile.stats.get(keys[0])?.stageRing, speeds)) taken += 1;
    else table = buildTable(profile, keys, speeds, 1, true);
    expect(rows(table)).toEqual(rows(buildTable(profile, keys, speeds, 1, true)));
  }
  expect(profile.stats.get(keys[0])!.stageRing.seen).toBeGreaterThan(1_000);
  expect(taken).toBeGreaterThan(390);
});
