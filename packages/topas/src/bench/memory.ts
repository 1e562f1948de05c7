import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { createState, step, type CoreConfig } from "@topas/core";

export interface MemoryReport {
  readonly tasks: number;
  readonly stagesPerTask: number;
  /** Heap grown while all tasks are known. */
  readonly knownMb: number;
  /** Heap left over after all of them have finished. */
  readonly leftMb: number;
}

const STAGES = 5;

/** Heap held by tasks that core knows, each with a graph of its own, and what is left when they are done. */
export function measureMemory(tasks: number): MemoryReport {
  const collect = collector();
  const config: CoreConfig = {
    budgetTokens: 100_000,
    blockTokens: 16,
    maxRunning: 64,
    contextTokens: null,
    speeds: { prefillSecondsPerToken: 3e-4, decodeSecondsPerToken: 0.05, kvBytesPerToken: 262_144, copyBytesPerSecond: 24e9 },
    hostTier: true,
    redo: "swap",
    failsOnOverflow: false,
    headroomTokens: 0,
  };
  const state = createState(config);
  const heap = (): number => {
    collect();
    return process.memoryUsage().heapUsed / 1e6;
  };
  const empty = heap();
  for (let i = 0; i < tasks; i++) {
    const id = `task-${i}`;
    step(state, { kind: "taskArrived", at: i, task: { id, tenant: "x", workflow: null, arrivalSeconds: i } });
    const stages = Array.from({ length: STAGES }, (_, s) => ({ id: `stage-${s}`, agent: `agent-${s}`, serviceSeconds: 2 }));
    const edges = stages.slice(1).map((stage, s) => [stages[s]!.id, stage.id] as const);
    step(state, { kind: "graphRevealed", at: i, task: id, graph: { stages, edges } });
  }
  const full = heap();
  for (let i = 0; i < tasks; i++) step(state, { kind: "taskDone", at: tasks, task: `task-${i}` });
  const left = heap();
  if (state.tasks.size > 0) throw new Error(`${state.tasks.size} finished tasks are still known`);
  return { tasks, stagesPerTask: STAGES, knownMb: full - empty, leftMb: left - empty };
}

function collector(): () => void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  return () => {
    collect();
    collect();
  };
}
