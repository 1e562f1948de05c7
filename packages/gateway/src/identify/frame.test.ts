import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frame, headerSafe, scopedId, scopedTaskId, tameId } from "./frame.ts";

describe("ids", () => {
  it("K56: equal if and only if both parts are equal", () => {
    const pairs = [
      ["acme1", "2"],
      ["acme", "12"],
      ["acme12", ""],
      ["", "acme12"],
    ] as const;
    expect(new Set(pairs.map(([tenant, name]) => scopedId(tenant, name))).size).toBe(4);
    const part = fc.string({ unit: fc.constantFrom("a", "1", ":", "/", "|", "\0", ","), maxLength: 6 });
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => {
        expect(scopedId(a, b) === scopedId(c, d)).toBe(a === c && b === d);
      }),
      { numRuns: 10_000, seed: 7 },
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 4 }), fc.array(part, { maxLength: 4 }), (a, b) => {
        expect(frame(a) === frame(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
      { numRuns: 10_000, seed: 8 },
    );
  });

  it("K56: golden values pin the derivation", () => {
    expect(scopedId("acme1", "2")).toBe("5:acme1,1:2,");
    expect(frame([])).toBe("");
    expect(tameId("x".repeat(257))).toEqual({
      id: "sha256-90f2bd6d1f5e2a42c566f2f2a767ab0113fc480a4af6b44002411d0253df49b8",
      hashed: true,
    });
  });

  it("hashes what is too long, empty or not printable, and nothing else", () => {
    for (const id of ["a", "x".repeat(256), "\u{1f680}".repeat(256), "a b", "é"])
      expect(tameId(id)).toEqual({ id, hashed: false });
    const odd = ["", "x".repeat(257), "a\nb", "a\u2028b", "\ud83d", "\ude80", "\ufffd\ud83d"].map((id) => tameId(id));
    expect(odd.every(({ hashed }) => hashed)).toBe(true);
    expect(new Set(odd.map(({ id }) => id)).size).toBe(odd.length);
    expect(scopedTaskId("t", "a\nb")).toBe(scopedId("t", tameId("a\nb").id));
  });

  it("K65: never normalises", () => {
    const pairs = [
      ["caf\u00e9", "cafe\u0301"],
      ["\u{1f469}\u200d\u{1f4bb}", "\u{1f469}\u{1f4bb}"],
      ["a\r\nb", "a\nb"],
      ["a\u00a0b", "a b"],
    ] as const;
    for (const [a, b] of pairs) expect(scopedTaskId("t", a)).not.toBe(scopedTaskId("t", b));
  });

  it("makes warnings safe for a header", () => {
    expect(headerSafe("a\r\nb é\u{1f680}")).toBe("a??b ???");
    expect(headerSafe("x".repeat(500))).toHaveLength(200);
  });
});
