import { afterEach, expect, test } from "vitest";
import { GatewayError } from "./errors.ts";
import { answer, chat, createRig, type Rig } from "./testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

const post = (url: string, payload: unknown, headers: Record<string, string> = {}) =>
  rig.app.inject({
    method: "POST",
    url,
    payload: payload as object,
    headers: { "content-type": "application/json", ...headers },
  });
const postChat = (extra: object = {}, headers: Record<string, string> = {}) => post("/v1/chat/completions", chat(extra), headers);

test("a chat call is answered, ids echoed, receipt status told", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["Hel", "lo"], { cachedTokens: 4 });
  const response = await postChat({ max_tokens: 5, seed: 7, stop: "x" }, { "x-request-id": "build-42" });
  expect(response.statusCode).toBe(200);
  expect(response.json()).toMatchObject({
    object: "chat.completion",
    model: "made-1",
    choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11, prompt_tokens_details: { cached_tokens: 4 } },
  });
  expect(response.headers["x-request-id"]).toBe("build-42");
  expect(response.headers["x-topas-receipt-status"]).toBe("absent");
  expect(response.headers["x-topas-request-id"]).toBe(rig.scheduler.calls[0]?.id);
  expect(rig.scheduler.calls[0]).toMatchObject({ maxTokens: 5, stop: ["x"], sampling: { seed: 7 }, http: null });
});

test("a completion call takes a string or token ids; a missing model is tolerated", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["ok"]);
  for (const prompt of ["hi", ["hi"], [1, 2, 3], [[1, 2, 3]]]) {
    const response = await post("/v1/completions", { prompt, prefix_tokens: 2 });
    expect(response.json()).toMatchObject({ object: "text_completion", choices: [{ text: "ok" }] });
  }
  expect((await post("/v1/completions", { prompt: ["a", "b"] })).json().error).toMatchObject({
    code: "invalid_request",
    param: "prompt",
  });
  expect((await post("/v1/chat/completions", { messages: [{ role: "user" }] })).statusCode).toBe(200);
});

test("K52: unknown cached tokens stay absent", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["a"]);
  expect((await postChat()).json().usage).toEqual({ prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 });
});

test("K53: cached tokens count inside the prompt", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["a"], { promptTokens: 1200, cachedTokens: 1000, completionTokens: 1 });
  expect((await postChat()).json().usage).toEqual({
    prompt_tokens: 1200,
    completion_tokens: 1,
    total_tokens: 1201,
    prompt_tokens_details: { cached_tokens: 1000 },
  });
});

test.each([
  [{ n: 2 }, "n"],
  [{ messages: [] }, "messages"],
  [{ messages: "hi" }, "messages"],
  [{ messages: [{ content: "no role" }] }, "messages.0.role"],
  [{ temperature: "hot" }, "temperature"],
  [{ stop: ["a", "b", "c", "d", "e"] }, "stop"],
  [{ max_tokens: 0 }, "max_tokens"],
  [{ logprobs: true }, "logprobs"],
  [{ stream: "yes" }, "stream"],
])("a wrong field is a 400 that names it: %j", async (extra, param) => {
  rig = await createRig();
  const response = await postChat(extra);
  expect(response.statusCode).toBe(400);
  expect(response.json().error).toMatchObject({ type: "invalid_request_error", code: "invalid_request", param });
  expect(rig.scheduler.calls).toEqual([]);
});

test("malformed JSON, wrong content type, unknown route: OpenAI's shape each", async () => {
  rig = await createRig();
  const bad = await post("/v1/chat/completions", '{"model": "m",, "messages": []}');
  expect(bad.statusCode).toBe(400);
  expect(bad.json().error).toMatchObject({ code: "invalid_json", message: expect.stringContaining("position 14") });
  const wrongType = await post("/v1/chat/completions", "a=b", { "content-type": "text/plain" });
  expect([wrongType.statusCode, wrongType.json().error.code]).toEqual([415, "unsupported_media_type"]);
  const nowhere = await rig.app.inject({ method: "GET", url: "/v1/nothing?key=secret" });
  expect(nowhere.statusCode).toBe(404);
  expect(nowhere.json()).toEqual({
    error: { message: "unknown route GET /v1/nothing", type: "invalid_request_error", code: "not_found", param: null },
  });
  expect((await rig.app.inject({ method: "POST", url: "/v1/chat/completions" })).statusCode).toBe(400);
  for (const body of ["[]", "null", '"x"', ""]) expect((await post("/v1/chat/completions", body)).statusCode).toBe(400);
});

test("K27 d: a depth bomb is a 400, at once", async () => {
  rig = await createRig();
  const bomb = "[".repeat(3_000_000);
  const start = performance.now();
  const response = await post("/v1/chat/completions", `{"messages":${bomb}`);
  expect(response.json().error).toMatchObject({ code: "invalid_json", message: expect.stringContaining("nested") });
  expect(performance.now() - start).toBeLessThan(500);
});

test("K26: what the scheduler refuses for size is a 400 that was never queued", async () => {
  rig = await createRig();
  rig.scheduler.refuseNext = "context_length_exceeded";
  const response = await postChat({ stream: true });
  expect([response.statusCode, response.json().error.code]).toEqual([400, "context_length_exceeded"]);
  expect(response.headers["x-topas-dropped-reason"]).toBeUndefined();
});

test("K47: 429 for contention, 503 for no capacity, each with its headers", async () => {
  rig = await createRig();
  const expected = [
    ["queue_full", 429, "rejected-saturated"],
    ["queue_timeout", 429, "rejected-ttl-expired"],
    ["engine_unavailable", 503, "rejected-no-endpoints"],
    ["shutting_down", 503, "rejected-shutting-down"],
  ] as const;
  for (const [code, status, dropped] of expected) {
    rig.scheduler.refuseNext = code;
    const response = await postChat();
    expect([response.statusCode, response.json().error.code]).toEqual([status, code]);
    expect(response.headers).toMatchObject({
      "x-topas-dropped-reason": dropped,
      "x-llm-d-request-dropped-reason": dropped,
      "retry-after": "2",
    });
  }
  rig.scheduler.up = false;
  expect((await postChat()).json().error.code).toBe("engine_unavailable");
});

test("K47 b, d: a call that ends in the queue gets its own status, streaming or not", async () => {
  rig = await createRig();
  for (const stream of [true, false]) {
    for (const [code, status] of [
      ["queue_timeout", 429],
      ["engine_lost", 503],
    ] as const) {
      rig.scheduler.run = (call) =>
        call.sink.end({
          reason: "failed",
          usage: { promptTokens: null } as never,
          error: { code, message: "m", status: 500, retryable: true },
        });
      const response = await postChat({ stream });
      expect([response.statusCode, response.json().error.code]).toEqual([status, code]);
      expect(response.headers["retry-after"]).toBe("2");
    }
  }
});

test("K46: a full queue refuses before the body is parsed", async () => {
  rig = await createRig();
  rig.scheduler.queueLimit = 0;
  const response = await post("/v1/chat/completions", "{broken");
  expect([response.statusCode, response.json().error.code]).toEqual([429, "queue_full"]);
});

test("a bad receipt never fails a call: it is told in headers", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["ok"]);
  const response = await postChat({}, { "x-topas-receipt": "{" });
  expect(response.statusCode).toBe(200);
  expect(response.headers["x-topas-receipt-status"]).toBe("ignored:bad_json");
  expect(response.headers["x-topas-receipt-warning"]).toBe("receipt_ignored: it is no JSON ? sorry");
});

test("keys: the tenant comes from the key only", async () => {
  rig = await createRig({
    keys: new Map([
      ["sk-a", "acme"],
      ["sk-b", "beta"],
    ]),
  });
  rig.scheduler.run = answer(["ok"]);
  for (const headers of [{}, { authorization: "Bearer sk-c" }, { authorization: "sk-a" }, { authorization: "Bearer sk-a2" }]) {
    const response = await postChat({}, headers as Record<string, string>);
    expect(response.statusCode).toBe(401);
    expect(response.json().error).toMatchObject({ type: "authentication_error", code: "invalid_api_key" });
  }
  await postChat({}, { authorization: "Bearer sk-a", "x-topas-tenant": "beta" });
  await postChat({}, { "x-api-key": "sk-b" });
  expect(rig.scheduler.calls.map((call) => call.identity.tenant)).toEqual(["acme", "beta"]);
});

test("explain is the tenant's own; a neighbour's call does not exist", async () => {
  rig = await createRig({
    keys: new Map([
      ["sk-a", "acme"],
      ["sk-b", "beta"],
    ]),
  });
  rig.scheduler.run = answer(["ok"]);
  const id = String((await postChat({}, { authorization: "Bearer sk-a" })).headers["x-topas-request-id"]);
  const ask = (key: string) => rig.app.inject({ url: `/v1/explain/${id}`, headers: { authorization: `Bearer ${key}` } });
  expect((await ask("sk-a")).json()).toMatchObject({ requestId: id });
  expect((await ask("sk-b")).statusCode).toBe(404);
  const byAnswer = await rig.app.inject({ url: `/v1/explain/chatcmpl-${id}`, headers: { authorization: "Bearer sk-a" } });
  expect(byAnswer.json()).toMatchObject({ requestId: id });
});

test("admin routes: loopback without a token, the token with one", async () => {
  rig = await createRig();
  const get = (remoteAddress: string, headers = {}) => rig.app.inject({ url: "/admin/policy", remoteAddress, headers });
  expect((await get("127.0.0.1")).json()).toEqual({ policy: "fcfs", fallback: null });
  expect((await get("::ffff:127.0.0.1")).statusCode).toBe(200);
  expect((await get("10.0.0.7")).json().error.code).toBe("forbidden");
  expect((await get("127.0.0.1", { "x-forwarded-for": "10.0.0.7" })).statusCode).toBe(403);
  await rig.app.close();
  rig = await createRig({ adminToken: "admin-1" });
  expect((await get("127.0.0.1")).statusCode).toBe(401);
  expect((await get("10.0.0.7", { authorization: "Bearer admin-1" })).statusCode).toBe(200);
});

test("K09: the policy switches at run time; an unknown one names itself", async () => {
  rig = await createRig();
  expect((await post("/admin/policy", { policy: "topas" })).json()).toEqual({ policy: "topas", before: "fcfs" });
  const response = await post("/admin/policy", { policy: "best" });
  expect([response.statusCode, response.json().error.code]).toEqual([400, "unknown_policy"]);
  expect((await post("/admin/policy", {})).json().error.param).toBe("policy");
  expect(rig.scheduler.policyId).toBe("topas");
});

test("K40: a cancelled task ends its calls with 410", async () => {
  rig = await createRig();
  const open = postChat({}, { "x-task": "t1" });
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await post("/v1/tasks/t1/finish", { outcome: "cancelled" })).json()).toEqual({
    id: "t1",
    outcome: "cancelled",
    known: true,
  });
  expect([(await open).statusCode, (await open).json().error.code]).toEqual([410, "task_cancelled"]);
  expect((await rig.app.inject({ method: "POST", url: "/v1/tasks/t2/finish" })).json()).toMatchObject({
    outcome: "done",
    known: false,
  });
  expect((await post("/v1/tasks/t2/finish", { outcome: "lost" })).json().error.param).toBe("outcome");
});

test("K66: workflows are parsed and declared, or refused with 422; receipts likewise", async () => {
  rig = await createRig({
    parseWorkflow: (_id, body) => {
      if ((body as { bad?: boolean }).bad)
        throw new GatewayError("invalid_workflow", { message: "edges: b -> a closes a cycle", param: "edges" });
      return { stages: [{ id: "a", agent: "A" }], edges: [] };
    },
    parseReceipt: ({ tenant }) => ({ tenant, task: "t" }) as never,
  });
  const put = (payload: object) => rig.app.inject({ method: "PUT", url: "/v1/workflows/w1", payload });
  expect((await put({})).json()).toEqual({ id: "w1", stages: 1, edges: 0 });
  expect([(await put({ bad: true })).statusCode, (await put({ bad: true })).json().error.param]).toEqual([422, "edges"]);
  expect((await post("/v1/receipts", {})).statusCode).toBe(202);
  expect((await post("/v1/receipts", { filler: "x".repeat(2_000_000) })).statusCode).toBe(413);
  expect(rig.scheduler.log).toEqual(["workflow default w1", "receipt default t"]);
});

test("models, health, readiness, state", async () => {
  rig = await createRig();
  const get = async (url: string) => (await rig.app.inject({ url })).json();
  expect(await get("/v1/models")).toMatchObject({ object: "list", data: [{ id: "made-1", object: "model" }] });
  expect(await get("/health")).toEqual({ status: "ok" });
  expect(await get("/ready")).toEqual({ status: "ready" });
  expect(await get("/v1/state")).toMatchObject({ policy: "fcfs", kv: { free: 1000 } });
  rig.scheduler.up = false;
  expect((await rig.app.inject({ url: "/ready" })).statusCode).toBe(503);
  expect(await get("/ready")).toEqual({ status: "not_ready", reason: "engine_unavailable" });
});
