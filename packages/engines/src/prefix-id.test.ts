import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frameHash, prefixId } from "./prefix-id.ts";

describe("prefix ids", () => {
  test("one golden value pins the derivation", () => {
    expect(frameHash(["acme1", "2"])).toBe("0df930744f9cd34361fecd957cea237e");
  });

  test("ids are equal if and only if both parts are equal", () => {
    const part = fc.string({ unit: fc.constantFrom("a", "1", ":", "/", "|", "\0"), maxLength: 6 });
    expect(frameHash(["acme1", "2"])).not.toBe(frameHash(["acme", "12"]));
    expect(frameHash(["acme12", ""])).not.toBe(frameHash(["", "acme12"]));
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => (frameHash([a, b]) === frameHash([c, d])) === (a === c && b === d)),
      { numRuns: 2_000 },
    );
  });

  test("tenant, model and every token count; where the view lies does not", () => {
    const tokens = Int32Array.of(1, 2, 3);
    const view = Int32Array.of(9, 1, 2, 3).subarray(1);
    expect(prefixId("t", "m", view)).toBe(prefixId("t", "m", tokens));
    const others = [
      prefixId("u", "m", tokens),
      prefixId("t", "n", tokens),
      prefixId("t", "m", Int32Array.of(1, 2)),
      prefixId("tm", "", tokens),
    ];
    expect(new Set([prefixId("t", "m", tokens), ...others]).size).toBe(5);
  });
});
