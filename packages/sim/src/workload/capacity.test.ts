import { describe, expect, it } from "vitest";
import profile from "../../profiles/qwen2.5-32b-a100.json" with { type: "json" };
import { parseProfile } from "../model/profile.ts";
import { stepTimer } from "../model/step-time.ts";
import { capacityPerSecond, decodeBound, rateForLoad } from "./capacity.ts";
import { makeWorkload } from "./make-workload.ts";
import { withVolatileSpan, VOLATILE_SPANS } from "./volatile.ts";

const timer = stepTimer(parseProfile(profile));
const stepSeconds = (batch: number, contextTokens: number): number =>
  timer({ prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: batch, contextTokens: batch * contextTokens, residentTokens: 0 });
const bound = (budgetTokens: number) =>
  decodeBound({ budgetTokens, residentPrefixes: 2, stepSeconds, prefillTokensPerSecond: 3_300 });

describe("capacity", () => {
  it.each([
    [20_000, 0.179],
    [32_000, 0.281],
    [39_000, 0.325],
  ])("chain of 3 x 400 at %d tokens: %f tasks/s (workloads, section 14)", (budget, expected) => {
    const chain = makeWorkload("chain-3", { seed: 1, tasks: 3 });
    expect(capacityPerSecond(chain, bound(budget)) / expected).toBeCloseTo(1, 1);
    expect(Math.abs(capacityPerSecond(chain, bound(budget)) / expected - 1)).toBeLessThan(0.04);
  });

  it("a load is turned into a rate", () => {
    const sop = makeWorkload("paper-sop", { seed: 1, tasks: 3 });
    expect(rateForLoad(sop, 0.5, () => 2)).toBeCloseTo(0.05, 9);
  });
});

describe("volatile prefix", () => {
  const made = makeWorkload("crewai-sequential", { seed: 4, tasks: 6 });
  const total = (tasks: typeof made.tasks, prefixes: ReadonlyMap<string, number>) =>
    tasks.map(({ stages }) =>
      stages.flatMap(({ agent, rounds }) => {
        let context = prefixes.get(agent)!;
        return rounds.map((round) => (context += round.promptTokens + round.outputTokens));
      }),
    );
  const prefixesOf = (agents: typeof made.agents) => new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));

  it("seconds: 50 tokens are left to share, every prompt stays as long, order and waits too", () => {
    const broken = withVolatileSpan(made, VOLATILE_SPANS.seconds);
    expect(broken.agents.every((agent) => agent.prefixTokens === 50)).toBe(true);
    expect(total(broken.tasks, prefixesOf(broken.agents))).toEqual(total(made.tasks, prefixesOf(made.agents)));
    expect(broken.tasks[0]!.stages.every((stage) => stage.rounds.length === 1)).toBe(true);
  });

  it("tail: all but the span is shared", () => {
    const { agents } = withVolatileSpan(made, VOLATILE_SPANS.tail);
    expect(agents.map((agent) => agent.prefixTokens)).toEqual(made.agents.map((agent) => agent.prefixTokens - 12));
  });

  it("minutes: one prefix of each agent and minute", () => {
    const { agents, tasks } = withVolatileSpan(made, VOLATILE_SPANS.minutes);
    const minutes = new Set(tasks.map((task) => Math.floor(task.arrivalSeconds / 60)));
    expect(agents.length).toBe(4 * minutes.size);
    expect(tasks[0]!.graph!.stages[0]!.agent).toBe(tasks[0]!.stages[0]!.agent);
  });

  it("none: nothing changes", () => {
    expect(makeWorkload("crewai-sequential", { seed: 4, tasks: 6, options: { volatileSpan: "none" } })).toEqual(made);
  });
});
