import { afterEach, expect, test } from "vitest";
import { createKeyLimiter, noKeyLimits } from "../key-limits.ts";
import { answer, chat, createRig, until, type Rig } from "../testing/rig.ts";

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

test("K43, K44, K45, K69: a key's limits hold per key, refused and broken calls give back what they took", async () => {
  const keyLimiter = createKeyLimiter({ ...noKeyLimits, inFlight: 1, requestsPerMinute: 3 });
  const keys = new Map([
    ["key-one-1", "acme"],
    ["key-two-2", "acme"],
  ]);
  rig = await createRig({ keyLimiter, keys });
  const one = { authorization: "Bearer key-one-1" };
  let finish = (): void => {};
  rig.scheduler.run = (call) => (finish = () => answer(["ok"])(call));
  const a = postChat({}, one);
  await until(() => rig.scheduler.running.size === 1);
  for (const _ of ["B", "C"]) {
    const refused = await postChat({}, one);
    expect([refused.statusCode, refused.json().error.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused.headers).toMatchObject({ "retry-after": "1", "x-topas-dropped-reason": "rejected-quota" });
  }
  finish();
  expect((await a).statusCode).toBe(200);
  rig.scheduler.run = answer(["ok"]);
  expect((await post("/v1/chat/completions", "{broken", one)).statusCode).toBe(400);
  rig.scheduler.refuseNext = "queue_full";
  expect((await postChat({}, one)).statusCode).toBe(429);
  for (const _ of ["D", "E"]) expect((await postChat({}, one)).statusCode).toBe(200);
  const f = await postChat({}, one);
  expect([f.statusCode, f.json().error.message]).toEqual([429, expect.stringContaining("requests per minute")]);
  expect((await postChat({}, { authorization: "Bearer key-two-2" })).statusCode).toBe(200);
  const metrics = (await rig.app.inject("/metrics")).body;
  expect(metrics).toContain('topas_key_limit{scope="process",limit="requestsPerMinute"} 3');
  expect(metrics).toContain("topas_scheduler_refused_key_in_flight_total 2");
});
