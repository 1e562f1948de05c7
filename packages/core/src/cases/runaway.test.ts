import { describe, expect, it } from "vitest";
import type { Policy } from "../policy/policy.ts";
import { waitOf } from "../testing/measure.ts";
import { policy, stage } from "../testing/builders.ts";
import { run, submit } from "../testing/rig-e-run.ts";
import { AGENT, createRig, type Rig } from "../testing/rig-e.ts";

const LINEAR = ["PLAN", "CODE", "TEST", "REVIEW"] as const;

/** Twelve tasks loop on CODE for 40 rounds, declared 12 at most; six linear tasks arrive every 10 s from 60 s. */
function runaways(chosen: Policy): { rig: Rig; longestWait: number } {
  const rig = createRig({ policy: chosen });
  const loop = {
    stages: [stage("CODE", 3)],
    edges: [["CODE", "CODE"]] as const,
    loops: [{ stages: ["CODE"], max: 12, mean: 10 }],
  };
  const again = (task: string, round: number): void => {
    if (round === 40) return;
    const onDone = (): void => again(task, round + 1);
    const when = rig.nowSeconds;
    submit(rig, {
      id: `${task}-${round}`,
      at: when,
      task,
      stage: "CODE",
      graph: loop,
      prefix: AGENT.CODE,
      own: 208,
      out: 100,
      onDone,
    });
  };
  for (let i = 0; i < 12; i++) again(`run${String(i).padStart(2, "0")}`, 0);
  const chain = {
    stages: LINEAR.map((name) => stage(name, 3)),
    edges: LINEAR.slice(1).map((name, i) => [LINEAR[i]!, name] as const),
  };
  const forward = (task: string, k: number, when: number): void => {
    if (k === LINEAR.length) return;
    const name = LINEAR[k]!;
    const onDone = (): void => forward(task, k + 1, rig.nowSeconds);
    submit(rig, {
      id: `${task}-${k}`,
      at: when,
      task,
      stage: name,
      graph: chain,
      prefix: AGENT[name],
      own: 208,
      out: 100,
      onDone,
    });
  };
  for (let i = 0; i < 6; i++) forward(`lin${i}`, 0, 60 + 10 * i);
  expect(run(rig)).toBe(true);
  const waits = [...rig.calls.values()].filter((c) => c.spec.task.startsWith("lin")).map(waitOf);
  expect(waits).toHaveLength(24);
  return { rig, longestWait: Math.max(...waits) };
}

describe("K68 the task that never stops", () => {
  it.each(["topas", "topas-nopre", "topas-guarded", "srpt-w", "srpt-w-o", "srpt-w-age-o", "spf", "spf-o", "las-decay"])(
    "%s: a linear call waits at most 5 s, each runaway is counted once",
    (id) => {
      const { rig, longestWait } = runaways(policy(id));
      expect(longestWait).toBeLessThanOrEqual(5);
      expect(rig.state.counters["loopOverruns"]).toBe(12);
    },
  );

  it("kv-index-safe: neither size nor age puts the endless task first; with a longest wait of 2 s the same limit holds", () => {
    expect(runaways(policy("kv-index-safe")).longestWait).toBeLessThan(25);
    expect(runaways(policy("kv-index-safe", { maxWaitSeconds: 2 })).longestWait).toBeLessThanOrEqual(5);
  });

  it("control: by task age alone the endless old tasks make the young ones wait", () => {
    expect(runaways(policy("task-fcfs")).longestWait).toBeGreaterThan(60);
  });
});
