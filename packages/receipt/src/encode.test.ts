import { describe, expect, it } from "vitest";
import { decodeHeaderJson, decodeReceiptHeader } from "./decode.ts";
import { DROP_ORDER, ReceiptEncodeError, encodeReceiptHeader, fitReceiptHeader } from "./encode.ts";

const stages = (count: number) => Array.from({ length: count }, (_, i) => ({ id: `stage-${i}`, agent: "coder" }));

describe("header form", () => {
  it("writes spec and authority itself, in base64url without padding", () => {
    const header = encodeReceiptHeader({ taskId: "é?>" });
    expect(header).toMatch(/^[A-Za-z0-9_-]+$/);
    expect(decodeHeaderJson(header)).toEqual({ ok: true, value: { taskId: "é?>", spec: "topas.receipt/1", authority: "none" } });
  });

  it("drops in the documented order and never the identity", () => {
    const big = {
      taskId: "t",
      stage: "s",
      graph: { stages: stages(5_000) },
      nextAgents: Array.from({ length: 900 }, () => "agent-name"),
      readyStages: ["s"],
    };
    const { header, dropped } = fitReceiptHeader(big);
    expect(dropped).toEqual(["graph", "nextAgents"]);
    expect(header.length).toBeLessThanOrEqual(8192);
    expect(decodeReceiptHeader(header)).toMatchObject({ ok: true, receipt: { taskId: "t", stage: "s", readyStages: ["s"] } });
    expect(DROP_ORDER.slice(0, 2)).toEqual(["graph", "nextAgents"]);
    expect(DROP_ORDER).not.toContain("taskId");
  });

  it("keeps a graph that fits", () => {
    expect(fitReceiptHeader({ taskId: "t", graph: { stages: stages(60) } }).dropped).toEqual([]);
  });

  it("throws a typed error when even the identity is too large, or when it is no JSON", () => {
    const failure = (make: () => unknown): unknown => {
      try {
        return make();
      } catch (error) {
        return error;
      }
    };
    const large = failure(() => encodeReceiptHeader({ taskId: "x".repeat(9_000) }));
    expect(ReceiptEncodeError.isInstance(large) && large.code).toBe("too_large");
    const loop: Record<string, unknown> = { taskId: "t" };
    loop["self"] = loop;
    const circular = failure(() => encodeReceiptHeader(loop as { taskId: string }));
    expect(ReceiptEncodeError.isInstance(circular) && circular.code).toBe("not_serializable");
    expect(ReceiptEncodeError.isInstance(new Error("other"))).toBe(false);
  });

  it("refuses what is no header, each with its code", () => {
    expect(decodeReceiptHeader("A".repeat(8193))).toMatchObject({ code: "header_too_large" });
    for (const bad of ["not base64!", "abc, abc", "A", "A==="])
      expect(decodeReceiptHeader(bad)).toMatchObject({ code: "header_not_base64url" });
    expect(decodeReceiptHeader(btoa("no json").replaceAll("=", ""))).toMatchObject({ code: "header_not_json" });
    expect(decodeReceiptHeader("_w")).toMatchObject({ code: "header_not_json" });
    expect(decodeReceiptHeader(btoa("[1]"))).toMatchObject({ code: "not_an_object" });
  });

  it("accepts padded base64url, as Python writes it", () => {
    const padded = btoa(JSON.stringify({ spec: "topas.receipt/1", taskId: "t1" }));
    expect(decodeReceiptHeader(padded.replaceAll("+", "-").replaceAll("/", "_"))).toMatchObject({ ok: true });
  });
});
