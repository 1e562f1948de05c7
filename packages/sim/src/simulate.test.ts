import { describe, expect, test } from "vitest";
import { decodeSeconds, prefillSeconds } from "./model/step-time.ts";
import type { RulesId } from "./rules/rules.ts";
import type { SimConfig } from "./sim-config.ts";
import { simulate } from "./simulate.ts";
import { makeWorkload } from "./workload/make-workload.ts";
import { flatTasks, PLAIN, randomTasks } from "./testing/workloads.ts";
import { readProfile } from "../bench/read-profile.ts";

const profile = readProfile("qwen2.5-32b-a100");
const stock: RulesId[] = ["sglang-0.5.x", "vllm-0.11", "vllm-0.19"];
const run = (changes: Partial<SimConfig> & Pick<SimConfig, "rules">) => {
  const load = randomTasks(1, 20, 2);
  return simulate({ profile, budget: 2_500, ...load, check: true, ...changes });
};

test("a fixed run keeps its fingerprint", () => {
  const load = randomTasks(11, 30, 3);
  const hash = (rules: RulesId): string => simulate({ profile, budget: 3_000, rules, ...load }).stepHash;
  expect(Object.fromEntries(stock.map((rules) => [rules, hash(rules)]))).toMatchInlineSnapshot(`
    {
      "sglang-0.5.x": "25d1f43af8017953",
      "vllm-0.11": "5fc6689881e49e22",
      "vllm-0.19": "5fc6689881e49e22",
    }
  `);
});

test.each(stock)("equal configurations give equal bytes: %s", (rules) => {
  const [one, two] = [run({ rules, record: { log: "full" } }), run({ rules, record: { log: "full" } })];
  expect(JSON.stringify(one.recorder.rows)).toBe(JSON.stringify(two.recorder.rows));
  expect(JSON.stringify(one.calls)).toBe(JSON.stringify(two.calls));
});

test("a policy that moves prefixes to and fro and lets nobody run is stopped and named", () => {
  const options = { budgetTokens: 20_000 };
  const load = makeWorkload("paper-chain3", { seed: 1, tasks: 40, arrival: "poisson", ratePerSecond: 0.15, options });
  const changes = { rulesOptions: { hostTier: "pcie" }, policyOptions: { reserve: "mean" } } as const;
  const norm: SimConfig = {
    profile,
    budget: 20_000,
    rules: "joint",
    policy: "topas-norm",
    decisionsWithoutStep: 2_000,
    ...changes,
    ...load,
  };
  expect(() => simulate(norm)).toThrow(/^livelock at [\d.]+ s: topas-norm made 2000 decisions and the engine no step$/);
});

describe("passthrough is the stock engine, step for step", () => {
  const orders = [
    ...stock.map((rules) => ({ rules, rulesOptions: {} })),
    { rules: "sglang-0.5.x" as const, rulesOptions: { sglang: { order: "lpm" as const } } },
  ];
  test.each(orders)("$rules $rulesOptions", (options) => {
    for (const seed of [1, 2, 3]) {
      const load = randomTasks(seed, 25, 3);
      const alone = run({ ...options, ...load });
      expect(run({ ...options, ...load, policy: "passthrough" }).stepHash).toBe(alone.stepHash);
    }
  });
});

describe("books balance after every event", () => {
  const cases: Omit<SimConfig, "profile" | "agents" | "tasks">[] = [
    ...stock.map((rules) => ({ rules })),
    { rules: "sglang-0.5.x", rulesOptions: { sglang: { order: "lpm", redo: "decode" } } },
    { rules: "vllm-0.11", rulesOptions: { vllm: { freedKeepHash: false } } },
    { rules: "sglang-0.5.x", policy: "lpm-task" },
    { rules: "sglang-0.5.x", rulesOptions: { hostTier: "pcie" } },
    { rules: "vllm-0.11", rulesOptions: { hostTier: "slow", hostRatio: 0.5 } },
    { rules: "oracle", policy: "fcfs" },
    { rules: "oracle", policy: "lpm-task-o", rulesOptions: { hostTier: "pcie" } },
    { rules: "joint", policy: "lpm-task-o", rulesOptions: { mixedSteps: true } },
    { rules: "oracle", policy: "topas", rulesOptions: { hostTier: "pcie" } },
    { rules: "oracle", policy: "topas-guarded", rulesOptions: { hostTier: "slow", mixedSteps: true } },
    { rules: "oracle", policy: "topas", redo: "redecode" },
    { rules: "oracle", policy: "topas-nopre", keepSessions: false },
  ];
  test.each(cases.map((one) => [JSON.stringify(one), one] as const))("%s", (_name, options) => {
    for (const seed of [1, 2])
      for (const budget of [1_500, 4_000]) {
        const load = randomTasks(seed, 12, 2);
        const result = run({ ...options, budget, ...load });
        expect(result.tasks.length).toBe(12);
        const rounds = load.tasks.flatMap((task) => task.stages.flatMap((stage) => stage.rounds));
        expect(result.calls.length).toBe(rounds.length);
        for (const call of result.calls) {
          expect(call.readySeconds <= call.admittedSeconds && call.admittedSeconds < call.firstTokenSeconds).toBe(true);
          expect(call.firstTokenSeconds <= call.finishedSeconds).toBe(true);
        }
      }
  });
  test("block granularity under control", () => {
    const blocks = { ...profile, blockTokens: 16 };
    expect(
      run({ profile: blocks, rules: "oracle", policy: "topas-guarded", rulesOptions: { hostTier: "pcie" } }).tasks.length,
    ).toBe(20);
  });
});

describe("oracle checks", () => {
  const every: Pick<SimConfig, "rules" | "policy">[] = [
    ...stock.map((rules) => ({ rules })),
    { rules: "oracle", policy: "fcfs" },
  ];
  test.each(every)("one request alone equals the closed form exactly: $rules", (rules) => {
    const result = simulate({ profile, budget: 20_000, ...rules, agents: [PLAIN], tasks: flatTasks(1, 1_000, 50), check: true });
    let at = prefillSeconds(profile, 1_000);
    for (let i = 1; i < 50; i++) at += decodeSeconds(profile, 1, 1_000 + i);
    expect(result.endSeconds).toBe(at);
    expect(result.recorder.steps).toBe(50);
  });

  test.each(every)("two requests on one prefix occupy the prefix and two suffixes: $rules", (rules) => {
    const agents = [{ name: "shared", prefixTokens: 4_096 }];
    const tasks = flatTasks(2, 160, 33, 20).map((task) => ({
      ...task,
      stages: task.stages.map((stage) => ({ ...stage, agent: "shared" })),
    }));
    const result = simulate({ profile, budget: 20_000, ...rules, agents, tasks, record: { log: "full" }, check: true });
    expect(result.calls[1]!.cachedTokens).toBe(4_096);
    const held = 20_000 - Math.min(...result.recorder.rows.map((row) => row.freeTokens));
    const each = 160 + 32;
    expect(held).toBeLessThanOrEqual(4_096 + 2 * each + 32);
    expect(held).toBeGreaterThanOrEqual(4_096 + (rules.rules === "oracle" ? 1 : 2) * each - 32);
  });

  test.each(every)("more budget than needed changes nothing: $rules", (rules) => {
    const load = randomTasks(5, 15, 1);
    const ends = [40_000, 80_000].map((budget) => simulate({ profile, budget, ...rules, ...load, check: true }).calls);
    expect(ends[1]).toEqual(ends[0]);
  });

  test.each([every[0]!, every[3]!])("a prefix on the host comes back by a copy, not by computing: $rules", (rules) => {
    const agents = ["a", "b", "c"].map((name) => ({ name, prefixTokens: 3_000 }));
    const tasks = flatTasks(9, 100, 5, 4).map((task, i) => ({
      ...task,
      stages: task.stages.map((stage) => ({ ...stage, agent: "abc"[i % 3]! })),
    }));
    const at = (hostTier: "none" | "pcie" | "slow") =>
      simulate({ profile, budget: 4_000, ...rules, agents, tasks, rulesOptions: { hostTier, hostRatio: 3 }, check: true });
    expect(at("none").recorder.prefillTokens).toBe(9 * 3_100);
    expect(at("pcie").recorder.prefillTokens).toBe(3 * 3_000 + 900);
    const suffixes = rules.rules === "oracle" ? 0 : 9 * 104;
    expect(at("pcie").movedBytes).toBe((9 * 3_000 + suffixes) * profile.kvBytesPerToken);
    expect(at("slow").endSeconds).toBeGreaterThan(at("pcie").endSeconds);
  });
});

test("what cannot be is refused with its reason", () => {
  const flat = { profile, agents: [PLAIN], tasks: flatTasks(1, 1_000, 50) };
  expect(() => simulate({ ...flat, rules: "oracle" })).toThrow("need a policy");
  expect(() => simulate({ ...flat, rules: "oracle", policy: "passthrough" })).toThrow("use stock rules");
  expect(() => simulate({ ...flat, rules: "vllm-0.11", policy: "topas" })).toThrow("cannot do: use rules joint");
  expect(() => simulate({ ...flat, rules: "vllm-0.11", policy: "nobody" })).toThrow("unknown policy");
  expect(() => simulate({ ...flat, rules: "vllm-0.11", budget: "huge" })).toThrow("unknown budget");
  expect(() => simulate({ ...flat, rules: "sglang-0.5.x", budget: 900 })).toThrow("can never fit");
});

test("ten times the tasks are at most twelve times the steps", () => {
  const steps = (count: number): number =>
    simulate({ profile, budget: 20_000, rules: "sglang-0.5.x", ...randomTasks(3, count, 0.5) }).recorder.steps;
  expect(steps(400)).toBeLessThan(12 * steps(40));
});
