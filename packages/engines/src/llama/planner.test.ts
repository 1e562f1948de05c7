import { expect, test } from "vitest";
import { Ledger } from "./ledger.ts";
import { overflowVictim } from "./planner.ts";
import type { Request } from "./request.ts";

const request = (seq: number, generated: number, promptTokens: number, phase: Request["phase"] = "active"): Request =>
  ({ seq, order: seq, generated, promptTokens, phase }) as Request;

function ledgerOf(cells: readonly number[]): Ledger {
  const ledger = new Ledger(1_000);
  for (const [seq, n] of cells.entries()) {
    ledger.open(seq, "request");
    ledger.grow(seq, n);
  }
  return ledger;
}

test("the overflow rule: fewest generated, then longest prompt, then latest admitted", () => {
  const ledger = ledgerOf([10, 10, 10, 10, 0]);
  const all = [request(0, 5, 90), request(1, 2, 50), request(2, 2, 60), request(3, 2, 60), request(4, 0, 99)];
  const victim = (list: readonly Request[], spared: Request | null = null): number | undefined =>
    overflowVictim(list, { ledger }, spared)?.seq;
  // 4 has generated least, but holds no cell.
  expect(victim(all)).toBe(3);
  expect(victim(all, all[3])).toBe(2);
  expect(victim(all.slice(0, 2))).toBe(1);
  expect(victim([request(1, 2, 50, "preempted"), request(2, 0, 9, "waiting")])).toBeUndefined();
});
