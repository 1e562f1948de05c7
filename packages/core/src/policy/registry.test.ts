import { describe, expect, it } from "vitest";
import { step } from "../step.ts";
import { admit, arrive, fresh, policy, ready } from "../testing/builders.ts";
import { createView } from "../view.ts";
import { mean } from "../reserve/mean.ts";
import { fallbackId, fallbackReason } from "./fallback.ts";
import { decide } from "../decide.ts";
import type { AllOptions } from "./baseline-options.ts";
import { createPolicy, describePolicy, policyIds } from "./registry.ts";
import { armFor, settledArm } from "./router.ts";

const IDS = `passthrough fcfs lpm lpm-task lpm-age lpm-task-age lpm-age-s hrrn hrrn-s hrrn-task task-fcfs spf srpt-w srpt-w-age
  cp-first plas atlas las-decay kvflow workload-evict ttl-fixed ttl-cdf saga-like astraea-hrrn static-partition router
  pause-resume topas topas-strict topas-no-floor topas-base topas-no-reuse topas-no-age topas-no-move topas-inside
  topas-sym-age topas-one-set topas-share topas-area topas-corr topas-guarded topas-nopre topas-norm oracle-index oracle-srpt
  oracle-belady oracle-reserve downstream-gate random-o kv-index-safe kv-index-mean kv-index-nopre kv-index-decline`
  .trim()
  .split(/\s+/);

describe("registry", () => {
  it("has the 53 ids of the algorithm note, each complete", () => {
    expect(policyIds().toSorted()).toEqual(IDS.toSorted());
    for (const id of policyIds({ variants: true })) {
      const info = describePolicy(createPolicy(id)!);
      expect(info.id).toBe(id);
      for (const text of [info.description, info.source, ...Object.values(info.composition)])
        expect(text.length).toBeGreaterThan(1);
      for (const knob of info.knobs) expect(info.options).toHaveProperty([knob]);
    }
  });

  it("only oracles are for experiments alone", () => {
    const oracles = policyIds().filter((id) => describePolicy(createPolicy(id)!).experimentsOnly);
    expect(oracles.toSorted()).toEqual(IDS.filter((id) => id.startsWith("oracle-")).toSorted());
  });

  it("suffixes set the fit of key orders and of nothing else", () => {
    expect(policy("lpm-task").options.fit).toBe("stop");
    expect(policy("lpm-task-o").options.fit).toBe("over");
    expect(policy("lpm-task-g").options.fit).toBe("guarded");
    expect(policy("lpm-age-s-o").order.id).toBe("lpm-age-s");
    for (const id of ["topas-o", "router-g", "passthrough-o", "random-o-o", "kv-index-safe-g", "lpm-x", "-o", "toString"])
      expect(createPolicy(id)).toBeNull();
    expect(policy("kv-index").id).toBe("kv-index-safe");
    const variants = policyIds({ variants: true });
    expect(new Set(variants).size).toBe(variants.length);
    for (const id of policyIds()) expect(variants).toContain(id);
  });

  it("any reserve by name; reserving no growth never goes with a head-of-line order", () => {
    for (const reserve of ["engine", "mean", "peak", "current", "full", "program"] as const)
      expect(policy("lpm", { reserve }).reserve.id).toBe(reserve);
    expect(policy("lpm", { reserve: "current" }).options.fit).toBe("over");
    expect(policy("lpm-g", { reserve: "current" }).options.fit).toBe("guarded");
  });
});

describe("router", () => {
  const options = policy("router").options as AllOptions;
  const regime = { reuse: 0.5, prefixShare: 0.8, hostTier: false };

  it("fcfs-o without contention, srpt-w-age-o without reuse where prefixes are cheap, else the search", () => {
    const arm = (contention: number, changes: Partial<typeof regime>) => armFor({ ...regime, ...changes, contention }, options);
    expect(arm(0.09, {})).toBe("fcfs-o");
    expect(arm(0.1, {})).toBe("search");
    expect(arm(0.5, { reuse: 0.1 })).toBe("search");
    expect(arm(0.5, { reuse: 0.1, hostTier: true })).toBe("srpt-w-age-o");
    expect(arm(0.5, { reuse: 0.1, prefixShare: 0.4 })).toBe("srpt-w-age-o");
  });

  it("switches only after 64 decisions that agree", () => {
    const quiet = Array.from({ length: 100 }, () => 0);
    const busy = (n: number) => [...quiet, ...Array.from({ length: n }, () => 1)];
    expect(settledArm([], regime, options)).toBe("fcfs-o");
    expect(settledArm(busy(69), regime, options)).toBe("fcfs-o");
    expect(settledArm(busy(70), regime, options)).toBe("search");
  });

  it("its arms keep its reserve", () => {
    const state = fresh();
    arrive(state, 0, "t");
    ready(state, 0, "r", { task: "t" });
    const router = policy("router", { reserve: "peak" });
    const view = createView(state, 0, mean);
    expect(router.delegate!(view)).toMatchObject({ id: "fcfs-o", reserve: { id: "peak" } });
    expect(decide(state, router, 0)).toMatchObject({ policy: "router", admit: [{ request: "r" }] });
  });
});

describe("fallback arm", () => {
  const options = (changes: Partial<AllOptions>) => policy("topas", changes).options as AllOptions;

  it("stands in while a waiting agent is unknown, the search is cut short or estimates are wrong", () => {
    const state = fresh();
    for (let i = 0; i < 8; i++) {
      ready(state, i, `r${i}`, { task: `t${i}`, agent: "a", stage: "s", output: 100, own: 10 });
      admit(state, i, `r${i}`, 100);
      step(state, { kind: "progress", at: i, deltas: [{ request: `r${i}`, prefilled: 10, decoded: 50 }] });
      const reason = () => {
        ready(state, i, `w${i}`, { task: `w${i}`, agent: "a", stage: "s" });
        const why = fallbackReason(createView(state, i, mean), options({}));
        step(state, { kind: "cancelled", at: i, request: `w${i}` });
        return why;
      };
      expect(reason()).toBe("coldAgent");
      step(state, { kind: "roundDone", at: i, request: `r${i}`, retainedTokens: 0 });
    }
    ready(state, 9, "w", { task: "w", agent: "a", stage: "s" });
    const view = createView(state, 9, mean);
    expect(fallbackReason(view, options({}))).toBeNull();
    expect(fallbackReason(view, options({ fallbackError: 0 }))).toBe("estimateError");
    state.counters["searchTruncated"] = 5;
    expect(fallbackReason(view, options({}))).toBe("searchTruncated");
    expect(fallbackReason(view, options({ fallbackTruncated: 1 }))).toBeNull();
  });

  it("is lpm-task-g when serving and lpm-task-o in experiments, with the same reserve; off by default", () => {
    const state = fresh();
    ready(state, 0, "w");
    const view = createView(state, 0, mean);
    expect(policy("topas").delegate).toBeUndefined();
    expect(policy("topas-guarded", { fallback: "guarded" }).delegate!(view)).toMatchObject({
      id: "lpm-task-g",
      reserve: { id: "peak" },
      options: { fit: "guarded" },
    });
    expect(policy("kv-index", { fallback: "over" }).delegate!(view)).toMatchObject({ id: "lpm-task-o", reserve: { id: "peak" } });
    expect(policy("lpm", { fallback: "over" }).delegate).toBeUndefined();
    expect(fallbackId({ fallback: "guarded" })).toBe("lpm-task-g");
  });
});
