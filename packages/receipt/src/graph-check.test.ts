import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checkGraph } from "./graph-check.ts";
import { parseGraph } from "./parse.ts";
import type { Workflow } from "./v1/workflow.ts";

const graph = (ids: string, ...edges: string[]): Workflow => ({
  stages: ids.split("").map((id) => ({ id })),
  edges: edges.map((edge) => [edge[0] ?? "", edge[1] ?? ""]),
});

describe("checkGraph", () => {
  it("K66: (a) a cycle nobody declared, members in order", () => {
    const issue = checkGraph(graph("XABC", "XA", "AB", "BC", "CA"));
    expect(issue?.code).toBe("undeclared_cycle");
    expect([...(issue?.members ?? [])].toSorted()).toEqual(["A", "B", "C"]);
    expect(issue?.message).toMatch(/"[ABC]" > "[ABC]" > "[ABC]" > "[ABC]"; declare it in graph.loops/);
  });

  it("K66: (b) self edge, (c) unknown stage, (d) two stages of one id", () => {
    expect(checkGraph(graph("A", "AA"))).toMatchObject({ code: "self_edge", members: ["A"] });
    expect(checkGraph(graph("A", "ZA"))).toMatchObject({ code: "unknown_stage", members: ["Z"] });
    expect(checkGraph(graph("ABA"))).toMatchObject({ code: "duplicate_stage", members: ["A"] });
  });

  it("K66: (e) the diamond and (f) a chain of 5,000 stages in < 500 ms", () => {
    expect(checkGraph(graph("ABCD", "AB", "AC", "BD", "CD"))).toBeNull();
    const stages = Array.from({ length: 5_000 }, (_, i) => ({ id: `s${i}`, agent: "a" }));
    const edges = stages.slice(1).map((_, i) => [`s${i}`, `s${i + 1}`]);
    const start = performance.now();
    expect(parseGraph({ stages, edges })).toMatchObject({ ok: true });
    expect(performance.now() - start).toBeLessThan(500);
    const closed = checkGraph({ stages, edges: [...edges, ["s4999", "s0"]] as [string, string][] });
    expect(closed).toMatchObject({ code: "undeclared_cycle" });
    expect(closed?.members).toHaveLength(50);
    expect(closed?.message.length).toBeLessThan(300);
  });

  it("K67: a declared cycle is legal, one that leaves its loop is not", () => {
    const loops = [{ stages: ["A", "B"], max: 10, mean: 3 }];
    expect(checkGraph({ ...graph("AB", "AB", "BA"), loops })).toBeNull();
    expect(checkGraph({ ...graph("AB", "AA", "AB"), loops })).toBeNull();
    expect(checkGraph({ ...graph("ABC", "AB", "BA", "BC", "CA"), loops })).toMatchObject({ code: "undeclared_cycle" });
    expect(
      checkGraph({ ...graph("ABC", "AB", "BA", "BC", "CB"), loops: [...loops, { stages: ["B", "C"], max: 2, mean: 1 }] }),
    ).toBeNull();
  });

  it("property: agrees with a depth-first search on random graphs", () => {
    const names = "ABCDEFG".split("");
    const letter = fc.constantFrom(...names);
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(letter, letter).filter(([a, b]) => a !== b),
          { maxLength: 14 },
        ),
        (edges) => {
          const issue = checkGraph({ stages: names.map((id) => ({ id })), edges });
          expect(issue !== null).toBe(hasCycle(names, edges));
          if (!issue) return;
          const around = [...issue.members, issue.members[0] ?? ""];
          for (let i = 1; i < around.length; i++) expect(edges).toContainEqual([around[i - 1], around[i]]);
        },
      ),
      { numRuns: 1_000, seed: 7 },
    );
  });
});

function hasCycle(names: readonly string[], edges: readonly (readonly [string, string])[]): boolean {
  const reaches = (from: string, to: string, seen: Set<string>): boolean =>
    edges.some(([a, b]) => a === from && (b === to || (!seen.has(b) && reaches(b, to, seen.add(b)))));
  return names.some((name) => reaches(name, name, new Set()));
}
