import { afterEach, expect, test } from "vitest";
import { answer, chat, createRig, type Rig } from "./testing/rig.ts";

let rig: Rig;
afterEach(() => rig.app.close());

/** A reader of the text format: sample lines, one TYPE a family, no family twice. */
function readMetrics(text: string): Map<string, number> {
  const samples = new Map<string, number>();
  const families = new Set<string>();
  for (const line of text.split("\n")) {
    if (line.startsWith("# TYPE ")) {
      const family = line.split(" ")[2] ?? "";
      expect(families.has(family)).toBe(false);
      families.add(family);
    } else if (line !== "" && !line.startsWith("#")) {
      const [, name, value] = /^([a-zA-Z_:][\w:]*(?:\{[^}]*\})?) (\S+)$/.exec(line) ?? [];
      expect(name, line).toBeDefined();
      samples.set(name ?? "", Number(value));
    }
  }
  return samples;
}

test("/metrics: calls, refusals by reason, scheduler counters and gauges", async () => {
  rig = await createRig();
  rig.scheduler.run = answer(["a", "b"]);
  const send = (payload: object) => rig.app.inject({ method: "POST", url: "/v1/chat/completions", payload });
  await send(chat());
  await send(chat({ stream: true }));
  await send(chat({ n: 2 }));
  rig.scheduler.refuseNext = "queue_full";
  await send(chat());
  const response = await rig.app.inject({ url: "/metrics" });
  expect(response.headers["content-type"]).toContain("text/plain");
  const samples = readMetrics(response.body);
  const expected = {
    'topas_requests_total{route="/v1/chat/completions",status="200"}': 2,
    'topas_requests_total{route="/v1/chat/completions",status="400"}': 1,
    'topas_requests_total{route="/v1/chat/completions",status="429"}': 1,
    'topas_refusals_total{code="queue_full"}': 1,
    'topas_refusals_total{code="invalid_request"}': 1,
    topas_open_calls: 0,
    topas_queue_seconds_count: 2,
    gen_ai_server_time_to_first_token_seconds_count: 2,
    gen_ai_server_time_per_output_token_seconds_count: 1,
    topas_scheduler_overtakes_total: 7,
    topas_queue_depth: 0,
    topas_ready: 1,
    topas_wait_age_max_seconds: 0,
    'topas_kv_tokens{kind="free"}': 1000,
  };
  for (const [name, value] of Object.entries(expected)) expect([name, samples.get(name)]).toEqual([name, value]);
});

test("K74: nothing a client names becomes a label", async () => {
  rig = await createRig();
  rig.scheduler.run = (call) =>
    call.sink.end({
      reason: "failed",
      usage: {} as never,
      error: { code: `code-${call.identity.task}`, message: "m", status: 500, retryable: false },
    });
  for (let i = 0; i < 200; i++) {
    await rig.app.inject({
      method: "POST",
      url: "/v1/chat/completions",
      payload: chat({ model: `m${i}` }),
      headers: { "x-task": `t${i}`, "x-request-id": `r${i}` },
    });
    await rig.app.inject({ url: `/v1/path-${i}` });
    await rig.app.inject({ url: `/v1/explain/id-${i}` });
  }
  const text = (await rig.app.inject({ url: "/metrics" })).body;
  expect(text).toContain('topas_requests_total{route="unmatched",status="404"} 200');
  expect(text).toContain('topas_requests_total{route="/v1/explain/:requestId",status="404"} 200');
  expect(text).toContain('topas_refusals_total{code="other"} 200');
  expect(text.split("\n").length).toBeLessThan(200);
});
