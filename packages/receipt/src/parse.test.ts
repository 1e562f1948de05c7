import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { RECEIPT_CODES } from "./codes.ts";
import { decodeReceiptHeader } from "./decode.ts";
import { encodeReceiptHeader, fitReceiptHeader } from "./encode.ts";
import { SPEC } from "./names.ts";
import { parseReceipt } from "./parse.ts";
import { Receipt, type ReceiptInput } from "./v1/receipt.ts";

const id = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((text) => /^[^\p{Cc}\p{Cs}]{1,200}$/u.test(text));
const time = fc.oneof(
  fc.nat({ max: 2_000_000_000_000 }),
  fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((d) => d.toISOString()),
);
const amount = fc.double({ min: 0, max: 1e12, noNaN: true }).map((n) => n + 0);
const source = fc.constantFrom("declared", "observed", "inferred");
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const estimate = (...units: string[]) =>
  fc.record({
    value: amount,
    unit: fc.constantFrom(...units),
    source,
    asOf: time,
    spread: optional(fc.record({ p50: amount, p90: amount })),
  });
const fields = {
  workflowId: id,
  parentTaskId: id,
  arrival: time,
  revision: fc.nat(),
  validUntil: time,
  final: fc.boolean(),
  graph: fc.uniqueArray(id, { minLength: 1, maxLength: 6 }).map((ids) => ({
    stages: ids.map((each) => ({ id: each, agent: `agent ${each.length}` })),
    edges: ids.slice(1).map((to, i) => [ids[i], to]),
  })),
  stage: id,
  agent: id,
  readyStages: fc.array(id, { maxLength: 5 }),
  status: fc.array(fc.record({ stage: id, state: fc.constantFrom("done", "failed", "skipped") }), { maxLength: 5 }),
  nextAgents: fc.array(id, { maxLength: 5 }),
  remainingPath: estimate("s", "ms", "calls"),
  remainingWork: estimate("s", "ms", "calls"),
  prefix: fc.record({ id, tokens: fc.nat({ max: 1e9 }), stable: fc.boolean() }),
  residency: fc.record({ state: fc.constantFrom("resident", "host", "absent", "unknown"), source, asOf: time }),
  kvReservation: estimate("tokens"),
  expectedReuse: estimate("calls", "probability"),
  expectedOutputTokens: estimate("tokens"),
  sessionKey: id,
  toolWait: fc.record({ expectedEnd: time }),
  taskAge: estimate("s", "ms"),
  preemptCost: estimate("s", "ms"),
  reloadCost: estimate("s", "ms"),
};
const receipts = fc
  .tuple(id, fc.record(fields, { requiredKeys: [] }))
  .map(([taskId, rest]) => JSON.parse(JSON.stringify({ spec: SPEC, authority: "none", taskId, ...rest })) as ReceiptInput);

describe("parseReceipt", () => {
  it("covers every member of the schema in the properties below", () => {
    expect(new Set(Object.keys(Receipt.shape))).toEqual(new Set(["spec", "authority", "taskId", ...Object.keys(fields)]));
  });

  it("property: a valid receipt stays valid when any optional member is dropped or null", () => {
    fc.assert(
      fc.property(receipts, fc.constantFrom(...Object.keys(fields), "authority"), fc.boolean(), (receipt, name, asNull) => {
        expect(parseReceipt(receipt)).toMatchObject({ ok: true });
        const { [name as keyof ReceiptInput]: _dropped, ...rest } = receipt;
        expect(parseReceipt(asNull && name !== "authority" ? { ...rest, [name]: null } : rest)).toMatchObject({ ok: true });
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("property: encode then decode is identity, unless the header had to drop something", () => {
    fc.assert(
      fc.property(receipts, (receipt) => {
        const parsed = parseReceipt(receipt);
        if (!parsed.ok) throw new Error(parsed.message);
        const { header, dropped } = fitReceiptHeader(parsed.receipt);
        expect(header).toMatch(/^[A-Za-z0-9_-]{1,8192}$/);
        if (dropped.length === 0) expect(decodeReceiptHeader(header)).toEqual(parsed);
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it("property: anything at all is answered, with a code of the catalogue and a message", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.anything(),
          fc.anything().map((x) => ({ spec: SPEC, taskId: "t", graph: x, status: x, arrival: x })),
        ),
        (value) => {
          const parsed = parseReceipt(value);
          if (!parsed.ok) {
            expect(RECEIPT_CODES).toHaveProperty(parsed.code);
            expect(parsed.message.length).toBeGreaterThan(10);
          }
        },
      ),
      { numRuns: 500, seed: 7 },
    );
  });

  it("leaves unknown members out and reads null as absent", () => {
    const parsed = parseReceipt({
      spec: SPEC,
      taskId: "t",
      stage: null,
      extra: 1,
      prefix: { id: "p", bytes: 2 },
      ["__proto__"]: { final: true },
    });
    expect(parsed).toEqual({
      ok: true,
      receipt: { spec: SPEC, authority: "none", taskId: "t", stage: null, prefix: { id: "p" } },
    });
  });

  it("refuses infinite numbers, which JSON can spell", () => {
    const huge: unknown = JSON.parse(
      `{"spec":"${SPEC}","taskId":"t","taskAge":{"value":1e999,"unit":"s","source":"declared","asOf":0}}`,
    );
    expect(parseReceipt(huge)).toMatchObject({
      ok: false,
      code: "out_of_range",
      message: expect.stringContaining("taskAge.value") as string,
    });
  });

  it("K65: ids that only look equal stay different", () => {
    for (const [a, b] of [
      ["caf\u00e9", "cafe\u0301"],
      ["\u{1f469}\u200d\u{1f4bb}", "\u{1f469}\u{1f4bb}"],
      ["a\u00a0b", "a b"],
    ] as const) {
      const [left, right] = [a, b].map((taskId) => decodeReceiptHeader(encodeReceiptHeader({ taskId })));
      if (!left?.ok || !right?.ok) throw new Error("refused");
      expect([left.receipt.taskId, right.receipt.taskId]).toEqual([a, b]);
      expect(left.receipt.taskId).not.toBe(right.receipt.taskId);
    }
    expect(parseReceipt({ spec: SPEC, taskId: "a\r\nb" })).toMatchObject({ code: "unprintable" });
    expect(parseReceipt({ spec: SPEC, taskId: "\ud83d" })).toMatchObject({ code: "unprintable" });
  });

  it("K71: carries join rules and what became of each stage", () => {
    for (const join of ["all", "any_success", "all_done"] as const) {
      const graph = { stages: [{ id: "A" }, { id: "J", join }], edges: [["A", "J"] as [string, string]] };
      const status = [{ stage: "A", state: "skipped" as const }];
      const parsed = decodeReceiptHeader(encodeReceiptHeader({ taskId: "t", graph, status }));
      expect(parsed).toMatchObject({ ok: true, receipt: { graph, status } });
    }
  });

  it("K31: carries the barrier flag", () => {
    const parsed = parseReceipt({ spec: SPEC, taskId: "t", graph: { stages: [{ id: "A" }], barrier: true } });
    expect(parsed).toMatchObject({ ok: true, receipt: { graph: { barrier: true } } });
  });

  it("K76: an unreadable clock costs its field, not the receipt", () => {
    expect(parseReceipt({ spec: SPEC, taskId: "t", arrival: "not a number" })).toMatchObject({ ok: true });
    expect(parseReceipt({ spec: SPEC, taskId: "t", arrival: Number.NaN })).toMatchObject({ ok: false, code: "out_of_range" });
  });
});
