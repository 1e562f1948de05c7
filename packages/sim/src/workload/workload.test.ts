import { validateGraph } from "@topas/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { predecessors, type SimTask } from "../task.ts";
import { listWorkloads, presetNames } from "./catalog.ts";
import { makeWorkload, type Workload } from "./make-workload.ts";

const lengthsOf = (tasks: readonly SimTask[]) =>
  tasks.map(({ stages }) =>
    stages.map(({ id, rounds }) => [id, rounds.map((round) => [round.promptTokens, round.outputTokens])]),
  );
const waitsOf = (tasks: readonly SimTask[]) =>
  tasks.map(({ stages }) => stages.map(({ rounds }) => rounds.map((round) => round.toolWaitSeconds)));
const arrivalsOf = (tasks: readonly SimTask[]) => tasks.map((task) => task.arrivalSeconds);

/** What is wrong with a workload, in words. */
function faults({ agents, tasks, budgetTokens }: Workload): string[] {
  const prefixes = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  const out = prefixes.size === agents.length ? [] : ["agent names repeat"];
  tasks.forEach((task, i) => {
    predecessors(task);
    if (task.graph !== null && !validateGraph(task.graph).ok) out.push(`${task.id}: graph`);
    if (task.arrivalSeconds < (tasks[i - 1]?.arrivalSeconds ?? 0)) out.push(`${task.id}: arrives before the one before`);
    for (const { id, agent, rounds } of task.stages) {
      let context = prefixes.get(agent) ?? NaN;
      for (const { promptTokens, outputTokens, maxTokens, toolWaitSeconds } of rounds) {
        const whole = [promptTokens, outputTokens, maxTokens].every((tokens) => Number.isInteger(tokens) && tokens! >= 1);
        if (!whole || outputTokens > maxTokens! || !(toolWaitSeconds >= 0)) out.push(`${task.id}/${id}: a round`);
        context += promptTokens + outputTokens;
      }
      if (!(context <= 0.75 * budgetTokens)) out.push(`${task.id}/${id}: ${context} tokens`);
      if (rounds.at(-1)?.toolWaitSeconds !== 0) out.push(`${task.id}/${id}: waits after its last call`);
    }
  });
  return out;
}

describe.each(presetNames())("%s", (name) => {
  it("makes tasks every engine can run, twice the same", () => {
    const made = makeWorkload(name, { seed: 7, tasks: 30 });
    expect(faults(made)).toEqual([]);
    expect(JSON.stringify(makeWorkload(name, { seed: 7, tasks: 30 }))).toBe(JSON.stringify(made));
  });
});

describe("catalog", () => {
  it("names are unique; the listing has sources and the pressure of the prefixes", () => {
    const list = listWorkloads();
    expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
    for (const each of list) {
      expect(each.description).not.toBe("");
      expect(each.source).not.toBe("");
    }
    const pressure = Object.fromEntries(list.map((each) => [each.name, each.budgetPressure]));
    expect(pressure).toMatchObject({
      "paper-chain3": 0.75,
      "paper-dag4": 1.32,
      "paper-dag10": 0.9,
      "paper-sop": 0.75,
      "paper-tl": 0.875,
      "paper-tl-full": 1.095,
    });
  });

  it("an unknown name lists the known ones", () => {
    expect(() => makeWorkload("nope", { seed: 1, tasks: 1 })).toThrow(/unknown workload nope; known: chain-3/);
  });
});

describe("fixed paper presets", () => {
  it.each([
    ["paper-chain3", 1_200],
    ["paper-dag4", 1_500],
    ["paper-dag10", 2_325],
    ["paper-dag10-twin", 2_325],
    ["paper-sop", 1_500],
    ["paper-tl", 7_020],
  ])("%s: %d output tokens a task, all tasks alike, limit = output", (name, tokens) => {
    const { tasks } = makeWorkload(name, { seed: 3, tasks: 5 });
    for (const task of tasks) {
      const rounds = task.stages.flatMap((stage) => stage.rounds);
      expect(rounds.reduce((sum, round) => sum + round.outputTokens, 0)).toBe(tokens);
      expect(rounds.every((round) => round.maxTokens === round.outputTokens)).toBe(true);
    }
  });
});

describe("common random numbers", () => {
  const base = { seed: 11, tasks: 40 } as const;
  const dynamic = fc.constantFrom("paper-sop-cv7", "supervisor-specialist", "mixed", "tl-full");

  it("another rate or arrival process keeps shapes, lengths and waits", () => {
    fc.assert(
      fc.property(dynamic, fc.integer({ min: 1, max: 1_000 }), (name, seed) => {
        const at = makeWorkload(name, { seed, tasks: 12, ratePerSecond: 0.1 });
        const twice = makeWorkload(name, { seed, tasks: 12, ratePerSecond: 0.2 });
        const bursts = makeWorkload(name, { seed, tasks: 12, ratePerSecond: 0.1, arrival: "gamma-8" });
        for (const other of [twice, bursts]) {
          expect(lengthsOf(other.tasks)).toEqual(lengthsOf(at.tasks));
          expect(waitsOf(other.tasks)).toEqual(waitsOf(at.tasks));
        }
        arrivalsOf(twice.tasks).forEach((seconds, i) => expect(seconds).toBeCloseTo(at.tasks[i]!.arrivalSeconds / 2, 9));
      }),
      { numRuns: 6, seed: 3 },
    );
  });

  it("more tasks begin with the same ones", () => {
    const few = makeWorkload("mixed", base);
    expect(makeWorkload("mixed", { ...base, tasks: 60 }).tasks.slice(0, 40)).toEqual(few.tasks);
  });

  it("another kind of tool wait moves waits only; another output spread keeps prompts and waits", () => {
    const a = makeWorkload("crewai-sequential", base);
    const b = makeWorkload("crewai-sequential", { ...base, options: { toolWaits: "heavy" } });
    expect(lengthsOf(b.tasks)).toEqual(lengthsOf(a.tasks));
    expect(arrivalsOf(b.tasks)).toEqual(arrivalsOf(a.tasks));
    expect(waitsOf(b.tasks)).not.toEqual(waitsOf(a.tasks));
    const fixedOut = makeWorkload("paper-sop-cv7", { ...base, options: { outputCv: 0, difficultySigma: 0 } });
    const free = makeWorkload("paper-sop-cv7", base);
    const prompts = (tasks: readonly SimTask[]) => tasks.map(({ stages }) => stages.map(({ rounds }) => rounds[0]!.promptTokens));
    expect(prompts(fixedOut.tasks)).toEqual(prompts(free.tasks));
    expect(new Set(fixedOut.tasks.flatMap(({ stages }) => stages[0]!.rounds.map((round) => round.outputTokens)))).toEqual(
      new Set([240]),
    );
  });

  it("the limit clips outputs and changes nothing else", () => {
    const typical = makeWorkload("chatdev", { ...base, options: { maxTokens: 4_096 } });
    const loose = makeWorkload("chatdev", { ...base, options: { maxTokens: "loose" } });
    expect(loose).toEqual(typical);
    const tight = makeWorkload("chatdev", { ...base, options: { maxTokens: "tight" } });
    expect(lengthsOf(tight.tasks)).toEqual(lengthsOf(loose.tasks));
  });

  it("hidden difficulty makes the stages of one task rise together", () => {
    const { tasks } = makeWorkload("paper-sop-cv2", { ...base, tasks: 300, options: { difficultySigma: 1 } });
    const pairs = tasks.map(
      ({ stages }) => [Math.log(stages[0]!.rounds[0]!.outputTokens), Math.log(stages[4]!.rounds[0]!.outputTokens)] as const,
    );
    expect(correlation(pairs)).toBeGreaterThan(0.8);
    const apart = makeWorkload("paper-sop-cv2", { ...base, tasks: 300 }).tasks.map(
      ({ stages }) => [stages[0]!.rounds[0]!.outputTokens, stages[4]!.rounds[0]!.outputTokens] as const,
    );
    expect(Math.abs(correlation(apart))).toBeLessThan(0.2);
  });
});

function correlation(pairs: readonly (readonly [number, number])[]): number {
  const mean = (of: (pair: readonly [number, number]) => number) => pairs.reduce((sum, pair) => sum + of(pair), 0) / pairs.length;
  const x = mean((pair) => pair[0]);
  const y = mean((pair) => pair[1]);
  const spread = (of: (pair: readonly [number, number]) => number, centre: number) =>
    Math.sqrt(mean((pair) => (of(pair) - centre) ** 2));
  return mean((pair) => (pair[0] - x) * (pair[1] - y)) / (spread((pair) => pair[0], x) * spread((pair) => pair[1], y));
}

describe("load and options", () => {
  it("load is a share of capacity; above it only when asked for", () => {
    const load = { fraction: 0.8, capacityPerSecond: 0.188 };
    expect(makeWorkload("paper-chain3", { seed: 1, tasks: 1, load })).toMatchObject({ load: 0.8, ratePerSecond: 0.8 * 0.188 });
    expect(() => makeWorkload("paper-chain3", { seed: 1, tasks: 1, load: { ...load, fraction: 1.1 } })).toThrow(/overload/);
    expect(makeWorkload("paper-chain3", { seed: 1, tasks: 1, load: { ...load, fraction: 1.1, overload: true } }).load).toBe(1.1);
  });

  it("prefix share sets the longest prefix and keeps proportions", () => {
    const { agents, budgetPressure } = makeWorkload("dag-10-wide", { seed: 1, tasks: 1, options: { prefixShare: 1 / 5 } });
    expect(agents.map((agent) => agent.prefixTokens)).toEqual([4_000, ...Array.from({ length: 8 }, () => 2_000), 4_000]);
    expect(budgetPressure).toBeCloseTo(1.2, 9);
  });

  it("a prefix that leaves no room is refused with the agent's name", () => {
    expect(() => makeWorkload("chain-3", { seed: 1, tasks: 1, options: { prefixShare: 0.8 } })).toThrow(
      /agent A: a prefix of 16000 tokens/,
    );
  });

  it("what a policy is told: nothing, the graph, or estimates; never a realised length", () => {
    const told = (reveal: "nothing" | "graph" | "estimates") =>
      makeWorkload("sop-long", { seed: 1, tasks: 1, options: { reveal } }).tasks[0]!.graph;
    expect(told("nothing")).toBeNull();
    expect(told("graph")!.stages[3]).toEqual({ id: "Eng", agent: "Eng", rounds: { max: 6, mean: 4.5 } });
    expect(told("estimates")!.stages[3]).toMatchObject({ expectedOutputTokens: 800 });
    expect(makeWorkload("supervisor-specialist", { seed: 1, tasks: 1 }).tasks[0]!.graph).toBeNull();
  });

  it("tenants are skewed", () => {
    const { tasks } = makeWorkload("chat", { seed: 1, tasks: 2_000, options: { tenants: 43 } });
    const top = tasks.filter(({ tenant }) => Number(tenant!.slice(6)) <= 8).length / tasks.length;
    expect(top).toBeGreaterThan(0.87);
    expect(top).toBeLessThan(0.94);
  });
});
