import { describe, expect, it } from "vitest";
import type { CoreEvent, Decision, Graph } from "../events.ts";
import type { Policy } from "../policy/policy.ts";
import { createState, type State } from "../state.ts";
import { step } from "../step.ts";
import { admit, call, config, policy } from "../testing/builders.ts";
import { decideFrom } from "./decide.ts";
import { existingIndex, indexFor } from "./hooks.ts";
import { compareItems, type Item } from "./item.ts";
import { allOf } from "./line.ts";
import { SETTINGS_DEFAULTS } from "./settings.ts";
import { buildIndex, type KvIndex } from "./store.ts";

const SEQUENCES = 10_000;
const GRAPH: Graph = {
  stages: [
    { id: "s0", agent: "a0" },
    { id: "s1", agent: "a1", rounds: { max: 3, mean: 2 } },
    { id: "s2", agent: "a2" },
    { id: "s3", agent: "a0" },
  ],
  edges: [
    ["s0", "s1"],
    ["s0", "s2"],
    ["s1", "s3"],
    ["s2", "s3"],
  ],
};

function randomFrom(seed: number): (below: number) => number {
  let x = (seed * 2_654_435_761 + 1) >>> 0;
  return (below) => {
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    x >>>= 0;
    return x % below;
  };
}

/** One event of a task whose profile nobody shares, so that only its own events can change its areas. */
function randomEvent(state: State, random: (below: number) => number, at: number): CoreEvent[] {
  const task = `t${random(3)}`;
  const any = (map: ReadonlyMap<string, unknown>): string | undefined => [...map.keys()][random(Math.max(1, map.size))];
  switch (random(12)) {
    case 0:
      return [{ kind: "graphRevealed", at, task, graph: GRAPH }];
    case 1:
      return [
        {
          kind: "receiptUpdated",
          at,
          task,
          stage: null,
          hints: { remainingWorkSeconds: random(50), remainingPathSeconds: random(50) },
        },
      ];
    case 2: {
      const request = any(state.running);
      if (request === undefined) return [];
      const retained = random(2) * 50;
      return [
        { kind: "progress", at, deltas: [{ request, prefilled: 100, decoded: 1 + random(40) }] },
        { kind: "roundDone", at, request, retainedTokens: retained },
      ];
    }
    case 3: {
      const request = any(state.requests);
      return request === undefined ? [] : [{ kind: random(2) === 0 ? "cancelled" : "failed", at, request }];
    }
    case 4: {
      const request = any(state.running);
      return request === undefined ? [] : [{ kind: "preempted", at, request, by: "engine", keptTokens: random(2) }];
    }
    case 5:
      return [{ kind: "stageSkipped", at, task, stage: `s${random(4)}` }];
    case 6:
      return random(4) === 0 ? [{ kind: random(2) === 0 ? "taskDone" : "taskCancelled", at, task }] : [];
    case 7:
      return random(8) === 0 ? [{ kind: "engineLost", at }] : [{ kind: "timer", at }];
    case 8: {
      const request = any(state.waiting);
      if (request !== undefined) admit(state, at, request, 200);
      return [];
    }
    default: {
      const tokens = [0, 300, 500][random(3)]!;
      const events: CoreEvent[] = [];
      if (!state.tasks.has(task))
        events.push({
          kind: "taskArrived",
          at,
          task: { id: task, tenant: `only-${task}`, workflow: null, arrivalSeconds: at, weight: 1 + random(3) },
        });
      const prefix = tokens === 0 ? {} : { prefix: [`p${tokens}`, tokens] as const };
      const spec = call(`r${at}`, {
        task,
        stage: `s${random(4)}`,
        own: 50 + random(300),
        max: 400,
        output: 20 + random(300),
        ...prefix,
      });
      return [...events, { kind: "ready", at, request: spec }];
    }
  }
}

function compare(index: KvIndex, full: KvIndex): void {
  const { state } = index;
  if (index.items.size !== state.requests.size) throw new Error("items and requests differ");
  for (const [id, item] of index.items) {
    const fresh = full.items.get(id)!;
    const same = [
      "base",
      "key",
      "needTokens",
      "areaTokenSeconds",
      "serviceSeconds",
      "endSeconds",
      "outputTokens",
      "waits",
    ] as const;
    for (const field of same)
      if (item[field] !== fresh[field])
        throw new Error(`${id}: ${field} is ${JSON.stringify([item[field], fresh[field]])}, now and recomputed`);
    if (item.group.running.has(item) !== state.running.has(id)) throw new Error(`${id} runs or not`);
  }
  const ids = (items: Iterable<Item>): string => [...items].map(({ id }) => id).join(" ");
  for (const [prefix, group] of index.groups) {
    const line = allOf(group.line);
    if (ids(line) !== ids(allOf(full.groups.get(prefix)!.line))) throw new Error("lines differ");
    if (line.some((item, i) => i > 0 && compareItems(line[i - 1]!, item) >= 0)) throw new Error("out of order");
    if (group.line.size !== line.length) throw new Error("wrong size");
    if (group.line.tokens !== line.reduce((sum, { needTokens }) => sum + needTokens, 0)) throw new Error("wrong sum");
  }
  if (ids(index.queue) !== [...state.waiting.keys()].join(" ")) throw new Error("queue differs");
  if (index.running.length !== state.running.size) throw new Error("running differ");
  for (const [entry, uses] of full.soon)
    if (Math.abs((index.soon.get(entry) ?? 0) - uses) > 1e-9) throw new Error(`soon of ${entry} differs`);
}

function actionsOf({ admit: start, preempt, evict, load, keep }: Decision): string {
  return JSON.stringify([start, preempt, evict, load, keep]);
}

describe("property 6", () => {
  it(`over ${SEQUENCES} random event sequences the index kept in step equals one built afresh, and decides alike`, () => {
    const safe: Policy = policy("kv-index-safe");
    let compared = 0;
    for (let seed = 1; seed <= SEQUENCES; seed++) {
      const random = randomFrom(seed);
      const state = createState(config({ budgetTokens: 1_500, maxRunning: 4 }));
      const index = indexFor(state, SETTINGS_DEFAULTS, safe.reserve);
      const length = 3 + random(7);
      for (let at = 1; at <= length; at++) for (const event of randomEvent(state, random, at)) step(state, event);
      expect(existingIndex(state)).toBe(index);
      const full = buildIndex(state, index.settings, index.reserve, index);
      compare(index, full);
      if (state.waiting.size === 0) continue;
      compared += 1;
      const kept = actionsOf(decideFrom(index, safe, length + 10));
      if (kept !== actionsOf(decideFrom(full, safe, length + 10))) throw new Error(`sequence ${seed} decides otherwise`);
    }
    expect(compared).toBeGreaterThan(SEQUENCES / 3);
  });

  it("costs a state nothing until an index policy reads it, and is dropped when nobody does any more", () => {
    const state = createState(config());
    step(state, { kind: "timer", at: 0 });
    expect(existingIndex(state)).toBeUndefined();
    indexFor(state, SETTINGS_DEFAULTS, policy("kv-index").reserve);
    for (let i = 0; i < 5_000; i++) step(state, { kind: "timer", at: i });
    expect(existingIndex(state)).toBeUndefined();
  });
});
