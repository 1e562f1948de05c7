import { encodeReceiptHeader, type ReceiptContext } from "@topas/receipt";
import { describe, expect, it } from "vitest";
import { scopedId, scopedTaskId } from "./identify/frame.ts";
import { identify } from "./identify.ts";
import { createWorkflowStore, parseWorkflow, type WorkflowStore } from "./workflows.ts";

const NOW = Date.parse("2026-03-02T10:00:00Z");
const send = (store: WorkflowStore, receipt?: ReceiptContext, tenant = "acme", headers: Record<string, string> = {}) =>
  store.reconcile(
    identify({
      tenant,
      headers: receipt ? { "x-topas-receipt": encodeReceiptHeader(receipt) } : headers,
      body: {},
      prefixId: null,
      nowMs: NOW,
      nowSeconds: 0,
      requestId: "r1",
    }),
  );
const loop = (max: number, mean: number) => ({
  stages: [
    { id: "LEAD", agent: "lead" },
    { id: "CODE", agent: "coder" },
  ],
  edges: [
    ["LEAD", "CODE"],
    ["CODE", "LEAD"],
  ] as [string, string][],
  loops: [{ stages: ["LEAD", "CODE"], max, mean }],
});
const path = (value: number) => ({ remainingPath: { value, unit: "s", source: "declared", asOf: NOW } }) as const;

describe("parseWorkflow", () => {
  it("K66: refuses (a)-(d) with invalid_workflow and the members, accepts (e) and (f)", () => {
    const stages = (ids: string) => ids.split("").map((id) => ({ id, agent: "a" }));
    const bad = [
      [
        {
          stages: stages("ABC"),
          edges: [
            ["A", "B"],
            ["B", "C"],
            ["C", "A"],
          ],
        },
        ["A", "B", "C"],
      ],
      [{ stages: stages("A"), edges: [["A", "A"]] }, ["A"]],
      [{ stages: stages("A"), edges: [["Z", "A"]] }, ["Z"]],
      [{ stages: stages("AA") }, ["A"]],
    ] as const;
    for (const [body, members] of bad) {
      const parsed = parseWorkflow(body);
      expect(parsed).toMatchObject({ ok: false, code: "invalid_workflow" });
      if (!parsed.ok) {
        expect(parsed.members.toSorted()).toEqual(members);
        for (const member of members) expect(parsed.message).toContain(`"${member}"`);
      }
    }
    expect(
      parseWorkflow({
        stages: stages("ABCD"),
        edges: [
          ["A", "B"],
          ["A", "C"],
          ["B", "D"],
          ["C", "D"],
        ],
      }),
    ).toMatchObject({ ok: true });
    const chain = Array.from({ length: 5_000 }, (_, i) => ({ id: `s${i}` }));
    const start = performance.now();
    expect(parseWorkflow({ stages: chain, edges: chain.slice(1).map((_, i) => [`s${i}`, `s${i + 1}`]) })).toMatchObject({
      ok: true,
    });
    expect(performance.now() - start).toBeLessThan(500);
    for (const body of [null, [], "x", {}, { stages: 1 }]) expect(parseWorkflow(body)).toMatchObject({ ok: false, members: [] });
  });
});

describe("workflow store", () => {
  it("K67: the newest valid revision wins, a contradiction is counted", () => {
    const store = createWorkflowStore();
    send(store, { taskId: "t", revision: 1, graph: loop(10, 3) });
    const newer = send(store, { taskId: "t", revision: 2, graph: loop(20, 5) });
    expect(newer.identity.graph?.loops).toEqual([{ stages: ["LEAD", "CODE"], max: 20, mean: 5 }]);
    expect(store.counters()).toMatchObject({ receipt_contradiction_total: 1, receipt_stale_total: 0 });
    const older = send(store, { taskId: "t", revision: 1, graph: loop(10, 3) });
    expect(older.identity.graph).toBe(newer.identity.graph);
    expect(older.warnings.join()).toContain("receipt_stale");
    const forged = send(store, { taskId: "t", revision: 2, graph: loop(99, 9) });
    expect(forged.identity.graph).toBe(newer.identity.graph);
    expect(store.counters()).toMatchObject({ receipt_contradiction_total: 2, receipt_stale_total: 1 });
  });

  it("an overtaken receipt keeps what it says of its own call, and yields on the task", () => {
    const store = createWorkflowStore();
    const own = { expectedOutputTokens: { value: 7, unit: "tokens", source: "declared", asOf: NOW } } as const;
    send(store, { taskId: "t", revision: 5, ...path(3) });
    expect(send(store, { taskId: "t", revision: 4, ...path(9), ...own }).identity.hints).toEqual({
      remainingPathSeconds: 3,
      expectedOutputTokens: 7,
    });
    expect(send(store, { taskId: "t", revision: 5, ...path(2) }).identity.hints).toEqual({ remainingPathSeconds: 2 });
  });

  it("a graph that grows is no contradiction, and an unchanged one is the same object", () => {
    const store = createWorkflowStore();
    const first = send(store, { taskId: "t", revision: 1, graph: { stages: [{ id: "A", agent: "a" }] } });
    expect(send(store, { taskId: "t", revision: 2, graph: { stages: [{ id: "A", agent: "a" }] } }).identity.graph).toBe(
      first.identity.graph,
    );
    expect(send(store, { taskId: "t", revision: 3 }).identity.graph).toBe(first.identity.graph);
    const grown = send(store, {
      taskId: "t",
      revision: 4,
      graph: {
        stages: [
          { id: "A", agent: "a" },
          { id: "B", agent: "b" },
        ],
        edges: [["A", "B"]],
      },
    });
    expect(grown.identity.graph?.stages).toHaveLength(2);
    expect(store.counters().receipt_contradiction_total).toBe(0);
    send(store, { taskId: "t", revision: 5, graph: { stages: [{ id: "A", agent: "other" }] } });
    expect(store.counters().receipt_contradiction_total).toBe(1);
  });

  it("fills a declared workflow in by id, inside its tenant, agents as calls name them", () => {
    const store = createWorkflowStore();
    const parsed = parseWorkflow(loop(10, 3));
    if (!parsed.ok) throw new Error(parsed.message);
    const declared = store.declare("acme", "flow", parsed.graph);
    expect(declared.stages.map((stage) => stage.agent)).toEqual([scopedId("acme", "lead"), scopedId("acme", "coder")]);
    expect(send(store, { taskId: "t", workflowId: "flow" }).identity.graph).toBe(declared);
    expect(send(store, { taskId: "t" }).identity.graph).toBe(declared);
    expect(send(store, { taskId: "t", workflowId: "flow" }, "other").identity.graph).toBeNull();
    expect([store.declared("acme", "flow"), store.declared("other", "flow")]).toEqual([declared, null]);
    const own = send(store, { taskId: "u", workflowId: "flow", graph: { stages: [{ id: "A" }] } });
    expect(own.identity.graph?.stages).toHaveLength(1);
  });

  it("K76: a wrong clock is counted once a task, at first sight", () => {
    const store = createWorkflowStore();
    const cases = [
      ["ahead", NOW + 120_000],
      ["old", "2023-03-02T10:00:00Z"],
      ["fine", NOW - 20_000],
      ["nan", "NaN"],
    ] as const;
    const ages = cases.map(([taskId, arrival]) => send(store, { taskId, arrival }).identity.ageSeconds);
    expect(ages).toEqual([0, 60, 20, 0]);
    expect(store.counters().clock_suspect_total).toBe(3);
    for (const [taskId, arrival] of cases) send(store, { taskId, arrival });
    expect(store.counters().clock_suspect_total).toBe(3);
  });

  it("is bounded, forgets finished tasks, and keeps nothing of calls without a task", () => {
    const store = createWorkflowStore({ capacity: 2 });
    for (const taskId of ["a", "b", "c"]) send(store, { taskId, revision: 9, graph: { stages: [{ id: taskId }] } });
    expect(send(store, { taskId: "a", revision: 1 }).identity.graph).toBeNull();
    expect(send(store, { taskId: "c", revision: 1 }).identity.graph).not.toBeNull();
    store.forget(scopedTaskId("acme", "c"));
    expect(send(store, { taskId: "c", revision: 1 }).identity.graph).toBeNull();
    store.declare("acme", "flow", { stages: [{ id: "A", agent: "a" }], edges: [] });
    expect(send(store, undefined, "acme", { "x-topas-workflow": "flow" })).toMatchObject({
      identity: { taskIsCall: true, graph: null },
    });
    for (const id of ["x", "y", "z"]) store.declare("acme", id, { stages: [], edges: [] });
    expect(store.declared("acme", "x")).toBeNull();
  });
});
