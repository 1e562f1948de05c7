import { expect, it } from "vitest";
import { createState } from "../state.ts";
import { step } from "../step.ts";
import { arrive, call, config, policy, stage } from "../testing/builders.ts";
import { createWorld, deciding } from "../testing/world.ts";
import type { Truth } from "./baseline-options.ts";

const STAGES = ["plan", "write", "check"];
const OUTPUT = 40;
const TASKS = 12;
/** Tasks run one by one before, so that every length is known exactly. */
const WARM_UP = 10;
const GAP_TICKS = 12;

/** Chains of equal fixed lengths; returns every admission in order, with its time. */
function schedule(id: string, fit: "stop" | "over"): readonly string[] {
  const state = createState(config({ budgetTokens: 1_300, maxRunning: 8 }));
  const log: string[] = [];
  const truth: Truth = {
    outputTokens: () => OUTPUT,
    remainingAreaTokenSeconds: (task) => {
      const left = STAGES.length - [...(state.tasks.get(task)?.stages.values() ?? [])].filter((s) => s.status === "done").length;
      const live = [...state.requests.values()].find((r) => r.spec.task === task);
      return left * 1_000 - (live?.decodedTokens ?? 0);
    },
    remainingPathSeconds: () => null,
    nextUseSeconds: () => null,
  };
  const world = createWorld(state, policy(id, { fit, truth }), {
    outputTokens: () => OUTPUT,
    onDecision: (before, decision) => log.push(...decision.admit.map(({ request }) => `${before.nowSeconds} ${request}`)),
  });
  const next = new Map<string, number>();
  const call_ = (task: string, index: number): void => {
    const name = STAGES[index]!;
    const spec = call(`${task}.${name}`, {
      task,
      stage: name,
      agent: name,
      prefix: [name, 200],
      own: 100,
      max: OUTPUT,
      output: OUTPUT,
    });
    next.set(task, index + 1);
    deciding(world, { kind: "ready", at: world.nowSeconds, request: spec });
  };
  const warm = WARM_UP * GAP_TICKS * STAGES.length;
  const all = (WARM_UP + TASKS) * STAGES.length;
  for (let tick = 0, n = 0; tick < warm + 400 && log.length < all; tick++) {
    if (tick < warm ? tick % (GAP_TICKS * STAGES.length) === 0 : (tick - warm) % 3 === 0 && n < WARM_UP + TASKS) {
      const task = `t${String(n++).padStart(2, "0")}`;
      arrive(state, world.nowSeconds, task, {
        stages: STAGES.map((name) => stage(name, 0.03 + OUTPUT * 0.05)),
        edges: STAGES.slice(1).map((name, i) => [STAGES[i]!, name]),
      });
      call_(task, 0);
    }
    const live = new Set(state.requests.keys());
    world.tick(1, 10);
    for (const gone of [...live].filter((request) => !state.requests.has(request)).toSorted()) {
      const task = gone.split(".")[0]!;
      if (next.get(task)! < STAGES.length) call_(task, next.get(task)!);
      else step(state, { kind: "taskDone", at: world.nowSeconds, task });
    }
  }
  return log.slice(WARM_UP * STAGES.length);
}

it.each(["stop", "over"] as const)(
  "fixed lengths, one topology, fit %s: task-fcfs, spf, srpt-w, srpt-w-age and oracle-srpt are one schedule",
  (fit) => {
    const reference = schedule("task-fcfs", fit);
    expect(reference).toHaveLength(TASKS * STAGES.length);
    for (const id of ["spf", "srpt-w", "srpt-w-age", "oracle-srpt"]) expect(schedule(id, fit)).toEqual(reference);
    expect(schedule("cp-first", fit)).not.toEqual(reference);
    expect(schedule("fcfs", fit)).not.toEqual(reference);
  },
);
