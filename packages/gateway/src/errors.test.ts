import { expect, test } from "vitest";
import { EngineError } from "@topas/engines";
import { fromReported, toRefusal } from "./error-reply.ts";
import { errorCatalogue, GatewayError, type ErrorCode } from "./errors.ts";

test("every row says what to do, and only refusals that may be retried carry Retry-After and a reason", () => {
  for (const code of Object.keys(errorCatalogue) as ErrorCode[]) {
    const { status, headers, body } = toRefusal(new GatewayError(code));
    expect(body.error).toMatchObject({ code, param: null });
    expect(body.error.message.length).toBeGreaterThan(15);
    const retryable = status === 429 || status === 503;
    expect([code, "retry-after" in headers, "x-topas-dropped-reason" in headers]).toEqual([code, retryable, retryable]);
  }
});

test.each([
  [0, "1"],
  [1.2, "2"],
  [900, "30"],
  [Number.NaN, "2"],
])("Retry-After is whole seconds from 1 to 30: %f -> %s", (retryAfterSeconds, header) => {
  expect(toRefusal(new GatewayError("queue_full", { retryAfterSeconds })).headers["retry-after"]).toBe(header);
});

test("isInstance works across package copies", () => {
  expect(GatewayError.isInstance(new GatewayError("not_found"))).toBe(true);
  expect(GatewayError.isInstance({ marker: Symbol.for("topas.GatewayError") })).toBe(true);
  expect(GatewayError.isInstance(new Error("no"))).toBe(false);
});

test("what is not ours says nothing of its inside", () => {
  const refusal = toRefusal(new TypeError("secret path"));
  expect([refusal.status, JSON.stringify(refusal).includes("secret")]).toEqual([500, false]);
});

test("an engine's own code keeps its status; a code of ours keeps its row", () => {
  expect(fromReported({ code: "engine_lost", message: "m", status: 500 })).toMatchObject({ status: 503, code: "engine_lost" });
  expect(fromReported({ code: "ctx", message: "m", status: 400 })).toMatchObject({
    status: 400,
    body: { error: { code: "ctx", type: "invalid_request_error" } },
  });
  expect(fromReported({ code: "odd", message: "m", status: 0 })).toMatchObject({
    status: 502,
    body: { error: { type: "server_error" } },
  });
  expect(toRefusal(new EngineError("busy", "m", 503)).headers["retry-after"]).toBe("2");
});
