import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseGraph } from "../parse.ts";
import { langgraphGraph } from "./graph.ts";

describe("langgraphGraph", () => {
  const drawn = (edges: readonly string[]) => {
    const parsed = edges.map((edge) => {
      const [source = "", target = ""] = edge.replace("?", "").split(">");
      return { source, target, conditional: edge.endsWith("?") };
    });
    return {
      nodes: Object.fromEntries(
        parsed.flatMap(({ source, target }) => [
          [source, {}],
          [target, {}],
        ]),
      ),
      edges: parsed,
    };
  };
  const END_ = "__end__";

  it.each([
    ["exact", ["__start__>a", "a>b", `b>${END_}`]],
    ["at-most", ["__start__>a", "a>b?", "a>c?", `b>${END_}`, `c>${END_}`]],
    ["at-least", ["__start__>a", "a>b", "b>a?", `b>${END_}?`]],
    ["estimate", ["__start__>a", "a>b?", "a>c?", "b>c", "c>a?", `c>${END_}?`]],
  ])("what the longest path says: %s", (path, edges) => {
    const made = langgraphGraph(drawn(edges));
    expect(made.path).toBe(path);
    expect(parseGraph(made.graph)).toMatchObject({ ok: true });
  });

  it("leaves silent nodes out: a tool loop becomes rounds of its agent", () => {
    const { graph, path } = langgraphGraph(drawn(["__start__>agent", "agent>tools?", `agent>${END_}?`, "tools>agent"]), {
      silent: ["tools", "absent", "__start__"],
      laps: { max: 8, mean: 2 },
    });
    expect(graph).toEqual({ stages: [{ id: "agent", rounds: { max: 8, mean: 2 } }], edges: [], barrier: true });
    expect(path).toBe("estimate");
    expect(parseGraph(graph)).toMatchObject({ ok: true });
  });

  it("property: whatever is drawn, the graph is one that the gateway accepts, with every node that calls", () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const edge = fc.tuple(fc.constantFrom("__start__", ...names), fc.constantFrom(...names, END_), fc.boolean());
    const some = fc.subarray(names, { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(edge, { maxLength: 20 }), some, (edges, silent) => {
        const nodes = Object.fromEntries(["__start__", ...names, END_].map((name) => [name, {}]));
        const made = edges.map(([source, target, conditional]) => ({ source, target, conditional }));
        const { graph } = langgraphGraph({ nodes, edges: made }, { silent });
        expect(parseGraph(graph)).toMatchObject({ ok: true });
        expect(graph.stages.map((stage) => stage.id)).toEqual(names.filter((name) => !silent.includes(name)));
      }),
    );
  });

  it("a loop begins where it is entered, whatever the order of the nodes", () => {
    const { graph } = langgraphGraph(drawn(["c>a", "a>b", "b>c", "__start__>b"]));
    expect(graph.loops?.[0]?.stages).toEqual(["b", "c", "a"]);
  });
});
