import { readFileSync, readdirSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeReceiptHeader } from "./encode.ts";
import { decodeReceiptHeader } from "./decode.ts";
import { receiptJsonSchema } from "./json-schema.ts";
import { parseReceipt } from "./parse.ts";
import { Receipt } from "./v1/receipt.ts";

const root = new URL("../", import.meta.url);
const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, root), "utf8"));
const list = (folder: string) => readdirSync(new URL(folder, root)).map((name) => ({ name, path: `${folder}/${name}` }));
const valid = list("fixtures/valid").map(({ name, path }) => ({ name, receipt: read(path) }));
const invalid = list("fixtures/invalid").map(({ name, path }) => ({
  name,
  ...(read(path) as { code: string; receipt: unknown }),
}));
const schema = read("schema/receipt.v1.json") as object;
const ajv = new Ajv2020({ strict: true, allErrors: false, allowUnionTypes: true }).compile(schema);

describe("golden receipts", () => {
  it("the checked-in JSON Schema is the one the source makes", () => {
    expect(schema).toEqual(receiptJsonSchema());
  });

  it("there are enough of them", () => {
    expect(valid.length).toBeGreaterThanOrEqual(8);
    expect(invalid.length).toBeGreaterThanOrEqual(12);
  });

  it.each(valid)("valid: $name", ({ receipt }) => {
    expect(ajv(receipt), JSON.stringify(ajv.errors)).toBe(true);
    const parsed = parseReceipt(receipt);
    expect(parsed).toMatchObject({ ok: true });
    if (parsed.ok) expect(decodeReceiptHeader(encodeReceiptHeader(parsed.receipt))).toEqual(parsed);
  });

  it.each(invalid)("invalid: $name is $code", ({ code, receipt }) => {
    expect(ajv(receipt)).toBe(Receipt.safeParse(receipt).success);
    const parsed = parseReceipt(receipt);
    expect(parsed).toMatchObject({ ok: false, code });
    if (!parsed.ok) expect(parsed.message).toMatch(/\w+.*[;:,] \w+/);
  });

  it("property: JSON Schema and zod agree on every receipt with one odd value in it", () => {
    const odd = fc.constantFrom<unknown[]>(
      null,
      true,
      -1,
      1.5,
      0,
      1e300,
      "",
      " ",
      "s",
      "all",
      "x".repeat(257),
      "\u{1f680}".repeat(200),
      "\0",
      "\ud800",
      [],
      {},
      ["A"],
    );
    const start = fc.constantFrom(...valid.map(({ receipt }) => receipt));
    let refused = 0;
    fc.assert(
      fc.property(start, fc.array(fc.nat(30), { minLength: 1, maxLength: 5 }), odd, (receipt, steps, value) => {
        const changed: unknown = structuredClone(receipt);
        place(changed, steps, value);
        const accepted = Receipt.safeParse(changed).success;
        expect(ajv(changed), JSON.stringify(changed)).toBe(accepted);
        if (!accepted) refused++;
      }),
      { numRuns: 2_000, seed: 7 },
    );
    expect(refused).toBeGreaterThan(300);
  });
});

/** Follows `steps` down the value as far as it goes and replaces what it finds there. */
function place(root: unknown, steps: readonly number[], value: unknown): void {
  let at = root;
  for (const [i, step] of steps.entries()) {
    if (typeof at !== "object" || at === null) return;
    const holder = at as Record<string, unknown>;
    const keys = Object.keys(holder);
    const key = keys[step % keys.length];
    if (key === undefined) return;
    const inside = holder[key];
    if (i === steps.length - 1 || typeof inside !== "object" || inside === null) holder[key] = value;
    at = inside;
  }
}
