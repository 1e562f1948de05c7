import { encodeReceiptHeader, type ReceiptContext } from "@topas/receipt";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { frame, scopedId, tameId } from "./identify/frame.ts";
import { identify, type IdentifyInput } from "./identify.ts";

const NOW = Date.parse("2026-03-02T10:00:00Z");
const call = (more: Partial<IdentifyInput> = {}) =>
  identify({
    tenant: "acme",
    headers: {},
    body: {},
    prefixId: "prefix-1",
    nowMs: NOW,
    nowSeconds: 100,
    requestId: "r1",
    ...more,
  });
const withReceipt = (receipt: ReceiptContext, more: Partial<IdentifyInput> = {}) =>
  call({ ...more, headers: { ...more.headers, "x-topas-receipt": encodeReceiptHeader(receipt) } });
const acme = (name: string) => scopedId("acme", name);
const seconds = (value: number) => ({ value, unit: "s", source: "declared", asOf: NOW }) as const;
const tokens = (value: number) => ({ value, unit: "tokens", source: "declared", asOf: NOW }) as const;

describe("identify", () => {
  it("a call that nobody named is a task of its own, with its prefix for an agent", () => {
    expect(call()).toEqual({
      identity: {
        tenant: "acme",
        task: frame(["acme", "", "r1"]),
        taskIsCall: true,
        workflow: null,
        stage: "*",
        agent: "prefix-1",
        session: null,
        ageSeconds: 0,
        graph: null,
        hints: null,
        final: false,
        source: "inferred",
      },
      receiptStatus: "absent",
      warnings: [],
      clockSuspect: false,
      receipt: null,
      parentTask: null,
    });
    expect(call({ prefixId: null }).identity.agent).toBe(call({ prefixId: null, requestId: "r2" }).identity.agent);
    expect(call({ requestId: "r2" }).identity.task).not.toBe(call().identity.task);
    expect(call({ headers: { "x-topas-task": "r1" } }).identity.task).not.toBe(call().identity.task);
  });

  it("per field: receipt > plain headers > agent headers > body > inferred", () => {
    const headers = {
      "x-topas-task": "plain",
      "x-topas-stage": "plain-stage",
      "x-topas-workflow": "plain-flow",
      "x-claude-code-session-id": "claude",
    };
    const body = { program_id: "body", topas: { spec: "topas.receipt/1", taskId: "from-body" } };
    const { identity } = withReceipt({ taskId: "receipt", agent: "coder" }, { headers, body });
    expect(identity).toMatchObject({
      task: acme("receipt"),
      agent: acme("coder"),
      stage: "plain-stage",
      workflow: acme("plain-flow"),
      source: "receipt",
    });
    expect(call({ headers, body }).identity).toMatchObject({ task: acme("from-body"), source: "receipt" });
    expect(call({ headers, body: { program_id: "body" } }).identity).toMatchObject({
      task: acme("plain"),
      agent: "prefix-1",
      source: "headers",
    });
    expect(call({ headers: { "session-id": "codex" }, body: { program_id: "body" } }).identity).toMatchObject({
      task: acme("codex"),
      source: "session",
    });
    expect(call({ body: { program_id: "body" } }).identity).toMatchObject({
      task: acme("body"),
      source: "session",
      taskIsCall: false,
    });
    expect(call({ headers: { "x-topas-agent": "coder" } }).identity).toMatchObject({
      agent: acme("coder"),
      taskIsCall: true,
      session: null,
      source: "inferred",
    });
  });

  it.each([
    ["Claude Code", { "x-claude-code-session-id": "s" }, {}],
    ["Codex", { "session-id": "s" }, {}],
    ["Codex, underscore", { session_id: "s" }, {}],
    ["OpenCode, AIBrix", { "x-session-id": "s" }, {}],
    ["OpenCode affinity", { "x-session-affinity": "s" }, {}],
    ["Dynamo", { "x-dynamo-session-id": "s" }, {}],
    ["program id", {}, { program_id: "s" }],
    ["extra body", {}, { extra_body: { program_id: "s" } }],
    ["SGLang", {}, { session_params: { id: "s" } }],
    ["Dynamo body", {}, { nvext: { session_control: { session_id: "s" } } }],
    ["vLLM xargs", {}, { vllm_xargs: { agentic_context: '{"session_id":"s"}' } }],
  ])("%s names the task", (_name, headers, body) => {
    expect(call({ headers, body }).identity).toMatchObject({ task: acme("s"), source: "session" });
  });

  it("reads the rest of what agents send: Claude Code's user id, Dynamo's parent, llm-d's flow, expected output", () => {
    const uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    expect(call({ body: { metadata: { user_id: `user_ab_account__session_${uuid}` } } }).identity.task).toBe(acme(uuid));
    const dynamo = call({
      headers: { "x-dynamo-session-id": "a1", "x-dynamo-parent-session-id": "t", "x-dynamo-session-final": "true" },
    });
    expect(dynamo.identity).toMatchObject({ task: acme("t"), session: frame(["acme", "t", "", "a1"]), final: true });
    expect(call({ headers: { "x-llm-d-inference-fairness-id": "flow" } }).identity).toMatchObject({
      workflow: acme("flow"),
      taskIsCall: true,
    });
    expect(call({ body: { nvext: { agent_hints: { osl: 64 } } } }).identity.hints).toEqual({ expectedOutputTokens: 64 });
    const weak = { prompt_cache_key: "k", conversation_id: "c", routing_key: "r", user: "u", priority: 9 };
    expect(call({ body: weak })).toEqual(call());
  });

  it("maps graph and estimates to core, agents scoped", () => {
    const { identity } = withReceipt({
      taskId: "t",
      stage: "CODE",
      graph: {
        stages: [
          { id: "LEAD", agent: "lead", expectedService: seconds(0.5) },
          { id: "CODE", agent: "coder", rounds: { max: 8, mean: 2 }, join: "all_done", expectedOutputTokens: tokens(40) },
          { id: "X" },
        ],
        edges: [
          ["LEAD", "CODE"],
          ["CODE", "LEAD"],
          ["LEAD", "CODE"],
        ],
        loops: [{ stages: ["LEAD", "CODE"], max: 10, mean: 3 }],
        barrier: true,
      },
      remainingPath: seconds(7.5),
      remainingWork: { ...seconds(9), unit: "calls" },
      kvReservation: tokens(4096),
      expectedReuse: { ...seconds(0.8), unit: "probability" },
      expectedOutputTokens: tokens(216),
      toolWait: { expectedEnd: NOW + 12_000 },
      readyStages: ["CODE"],
      final: true,
    });
    expect(identity.graph).toEqual({
      stages: [
        { id: "LEAD", agent: acme("lead"), serviceSeconds: 0.5 },
        { id: "CODE", agent: acme("coder"), rounds: { max: 8, mean: 2 }, join: "all_done", expectedOutputTokens: 40 },
        { id: "X", agent: acme("X") },
      ],
      edges: [
        ["LEAD", "CODE"],
        ["CODE", "LEAD"],
      ],
      loops: [{ stages: ["LEAD", "CODE"], max: 10, mean: 3 }],
      barrier: true,
    });
    expect(identity).toMatchObject({
      agent: acme("coder"),
      session: frame(["acme", "t", acme("coder")]),
      final: true,
      hints: {
        remainingPathSeconds: 7.5,
        reserveTokens: 4096,
        nearTermReuse: 0.8,
        expectedOutputTokens: 216,
        toolWaitEndSeconds: 112,
        readyStages: ["CODE"],
      },
    });
    expect(identity.hints).not.toHaveProperty("remainingWorkSeconds");
  });

  it("a session key stands inside its tenant and task", () => {
    const of = (tenant: string, taskId: string) => withReceipt({ taskId, sessionKey: "k" }, { tenant }).identity.session;
    expect(new Set([of("acme", "t"), of("acme", "u"), of("other", "t")]).size).toBe(3);
    expect(withReceipt({ taskId: "t", sessionKey: "k", agent: "a" }).identity.session).toBe(of("acme", "t"));
  });

  it("invariant o: a bad receipt is ignored with its code, and the next source speaks", () => {
    const bad = call({ headers: { "x-topas-receipt": "!!!", "x-topas-task": "plain" } });
    expect(bad).toMatchObject({
      receiptStatus: "ignored:header_not_base64url",
      receipt: null,
      identity: { task: acme("plain"), source: "headers" },
    });
    expect(bad.warnings.join()).toMatch(/^receipt_ignored: header_not_base64url: x-topas-receipt: /);
    const cyclic = call({
      body: {
        topas: {
          spec: "topas.receipt/1",
          taskId: "t",
          graph: {
            stages: [{ id: "A" }, { id: "B" }],
            edges: [
              ["A", "B"],
              ["B", "A"],
            ],
          },
        },
      },
    });
    expect(cyclic).toMatchObject({
      receiptStatus: "ignored:undeclared_cycle",
      identity: { taskIsCall: true, hints: null, graph: null },
    });
    const rescued = call({ headers: { "x-topas-receipt": "!!!" }, body: { topas: { spec: "topas.receipt/1", taskId: "t" } } });
    expect(rescued).toMatchObject({ receiptStatus: "ok", identity: { task: acme("t") } });
    expect(rescued.warnings).toHaveLength(1);
  });

  it("an expired receipt still says who calls, and nothing else", () => {
    const old = withReceipt({
      taskId: "t",
      agent: "a",
      graph: { stages: [{ id: "A" }] },
      remainingPath: seconds(3),
      validUntil: NOW - 61_000,
    });
    expect(old).toMatchObject({
      receiptStatus: "ignored:expired",
      receipt: null,
      identity: { task: acme("t"), agent: acme("a"), graph: null, hints: null },
    });
  });

  it("hashes ids that are too long or not printable, everywhere alike, and says so", () => {
    const long = "x".repeat(300);
    const plain = call({ headers: { "x-topas-task": long } });
    expect(plain.identity.task).toBe(acme(tameId(long).id));
    expect(plain.warnings).toEqual(["id_hashed: task"]);
    const body = {
      topas: { spec: "topas.receipt/1", taskId: long, stage: "a\nb", graph: { stages: [{ id: "a\nb", agent: "coder" }] } },
    };
    const { identity, receiptStatus, warnings } = call({ body });
    expect(identity).toMatchObject({ task: plain.identity.task, stage: tameId("a\nb").id, agent: acme("coder") });
    expect([receiptStatus, warnings]).toEqual(["ok", ["id_hashed: receipt"]]);
  });

  it("K56: one task id under two keys is two tasks", () => {
    const of = (tenant: string, task: string) => call({ tenant, headers: { "x-topas-task": task } }).identity.task;
    expect(of("acme1", "2")).not.toBe(of("acme", "12"));
  });

  it("a receipt never changes tenant, and there is no priority to change", () => {
    const body = { topas: { spec: "topas.receipt/1", taskId: "t", tenant: "root", weight: 99, priority: 9 }, tenant: "root" };
    const { identity } = call({ body });
    expect(identity.tenant).toBe("acme");
    expect(identity).toEqual(call({ body: { topas: { spec: "topas.receipt/1", taskId: "t" } } }).identity);
  });

  it("property: never throws, and always answers in printable ASCII", () => {
    const name = fc.constantFrom("x-topas-receipt", "x-topas-task", "x-topas-stage", "session-id", "x-dynamo-session-id");
    fc.assert(
      fc.property(fc.dictionary(name, fc.string({ unit: "binary" })), fc.anything(), fc.anything(), (headers, topas, body) => {
        for (const each of [body, { topas }, { topas: { spec: "topas.receipt/1", taskId: topas, graph: body } }]) {
          const found = call({ headers, body: each });
          expect(found.identity.tenant).toBe("acme");
          for (const warning of found.warnings) expect(warning).toMatch(/^[ -~]{1,200}$/);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
