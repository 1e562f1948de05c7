import { describe, expect, it } from "vitest";
import { scopedId } from "./frame.ts";
import { identifyReceipt } from "./out-of-band.ts";

const NOW = Date.parse("2026-03-02T10:00:00Z");
const send = (body: unknown) => identifyReceipt({ tenant: "acme", body, nowMs: NOW, nowSeconds: 100 });

describe("a receipt outside a call", () => {
  it("names task, stage and what the tool does", () => {
    const update = send({
      spec: "topas.receipt/1",
      taskId: "t",
      stage: "CODE",
      toolWait: { expectedEnd: NOW + 7_000 },
      status: [{ stage: "A", state: "skipped" }],
    });
    expect(update).toMatchObject({
      ok: true,
      stage: "CODE",
      identified: {
        identity: { task: scopedId("acme", "t"), hints: { toolWaitEndSeconds: 107 } },
        receipt: { status: [{ stage: "A", state: "skipped" }] },
      },
    });
  });

  it("is refused when it is wrong or has expired", () => {
    expect(send({ spec: "topas.receipt/1" })).toMatchObject({ ok: false, code: "missing_task" });
    expect(send({ spec: "topas.receipt/1", taskId: "t", validUntil: 0 })).toMatchObject({ ok: false, code: "expired" });
  });
});
