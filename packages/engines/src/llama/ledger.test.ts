import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Ledger } from "./ledger.ts";

/** The obvious model: every cell is an object, a sequence is a list of cells. */
class CellModel {
  readonly sequences = new Map<number, object[]>();
  used(): number {
    return new Set([...this.sequences.values()].flat()).size;
  }
}

const step = fc.record({
  op: fc.constantFrom("prefix", "fill", "share", "own", "truncate", "close", "session"),
  seq: fc.integer({ min: 0, max: 5 }),
  from: fc.integer({ min: 0, max: 5 }),
  n: fc.integer({ min: 0, max: 9 }),
});

describe("ledger", () => {
  test("counts every cell once whatever shares and leaves it", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ledger = new Ledger(1_000);
        const model = new CellModel();
        const kinds = new Map<number, "prefix" | "request" | "session">();
        const blocks = new Map<number, string>();
        let made = 0;
        for (const { op, seq, from, n } of steps) {
          const cells = model.sequences.get(seq);
          if (op === "prefix" && cells === undefined) {
            ledger.open(seq, "prefix");
            kinds.set(seq, "prefix");
            blocks.set(seq, `block${made++}`);
            model.sequences.set(seq, []);
          } else if (op === "fill" && cells !== undefined && kinds.get(seq) === "prefix" && n > 0) {
            ledger.fill(seq, blocks.get(seq) ?? "", n);
            cells.push(...Array.from({ length: n }, () => ({})));
          } else if (op === "share" && cells === undefined && kinds.get(from) === "prefix") {
            const shared = Math.min(n, ledger.length(from));
            ledger.open(seq, "request");
            ledger.share(seq, blocks.get(from) ?? "", shared);
            kinds.set(seq, "request");
            model.sequences.set(seq, (model.sequences.get(from) ?? []).slice(0, shared));
          } else if (op === "own" && cells !== undefined && kinds.get(seq) !== "prefix") {
            ledger.grow(seq, n);
            cells.push(...Array.from({ length: n }, () => ({})));
          } else if (op === "truncate" && cells !== undefined && kinds.get(seq) !== "prefix") {
            ledger.truncate(seq, n);
            cells.length = Math.min(cells.length, n);
          } else if (op === "session" && kinds.get(seq) === "request") {
            ledger.become(seq, "session");
            kinds.set(seq, "session");
          } else if (op === "close" && cells !== undefined) {
            const before = model.used();
            const gain = ledger.gain(seq);
            expect(ledger.freeWithout(new Set([seq]))).toBe(ledger.free + gain);
            ledger.close(seq);
            model.sequences.delete(seq);
            kinds.delete(seq);
            expect(before - model.used()).toBe(gain);
          }
          expect(ledger.check()).toBeNull();
          expect(ledger.free).toBe(1_000 - model.used());
          const { free, prefix, session, private: own } = ledger.totals();
          expect(free + prefix + session + own).toBe(1_000);
          for (const [id, list] of model.sequences) expect(ledger.length(id)).toBe(list.length);
        }
      }),
    );
  });

  test("cells of an evicted prefix live until its last user goes, and the longest holder is known", () => {
    const ledger = new Ledger(100);
    ledger.open(0, "prefix");
    ledger.fill(0, "p", 30);
    for (const [seq, tokens] of [
      [1, 30],
      [2, 29],
    ] as const) {
      ledger.open(seq, "request");
      ledger.share(seq, "p", tokens);
    }
    ledger.grow(1, 5);
    expect(ledger.totals()).toEqual({ free: 65, prefix: 30, session: 0, private: 5 });
    ledger.close(0);
    expect(ledger.totals()).toEqual({ free: 65, prefix: 30, session: 0, private: 5 });
    expect(ledger.longestHolder("p")).toEqual({ seq: 1, tokens: 30 });
    ledger.close(1);
    expect(ledger.totals()).toEqual({ free: 71, prefix: 29, session: 0, private: 0 });
    ledger.close(2);
    expect(ledger.free).toBe(100);
    expect(ledger.longestHolder("p")).toBeNull();
  });

  test("more cells than there are is a finding", () => {
    const ledger = new Ledger(10);
    ledger.open(0, "request");
    ledger.grow(0, 11);
    expect(ledger.check()).toContain("1 cells more");
  });
});
