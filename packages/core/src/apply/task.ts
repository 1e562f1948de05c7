import { cleanHints } from "../estimate/hints.ts";
import { learnStage, learnTask } from "../estimate/learn.ts";
import { sharedGraph, sharedKeys } from "../estimate/shared.ts";
import type { Graph, TaskHints, TaskSpec } from "../events.ts";
import { finishPredecessors, leaveLoopStage, predecessorsLive, refreshReadiness } from "../graph/progress.ts";
import { validateGraph } from "../graph/validate.ts";
import { forgetIfUnused } from "../ledger.ts";
import { count, type StageState, type State, type TaskState } from "../state.ts";

export function applyTaskArrived(state: State, spec: TaskSpec): void {
  if (state.tasks.has(spec.id)) {
    count(state, "tasksRepeated");
    return;
  }
  const weight = spec.weight ?? 1;
  state.tasks.set(spec.id, {
    id: spec.id,
    tenant: spec.tenant,
    workflow: spec.workflow,
    arrivalSeconds: Number.isFinite(spec.arrivalSeconds) ? Math.min(spec.arrivalSeconds, state.nowSeconds) : state.nowSeconds,
    weight: weight > 0 && Number.isFinite(weight) ? weight : 1,
    graph: null,
    stages: new Map(),
    loops: new Map(),
    revision: 0,
    admissions: 0,
    outcome: { calls: 0, logSum: 0, logSquares: 0 },
    lead: null,
    lastStage: null,
    hints: {},
    hintAttainedSeconds: 0,
    attainedSeconds: 0,
    callsStarted: 0,
    live: 0,
    done: false,
    failure: null,
  });
}

/** The newest valid graph wins; what is already done stays recorded (K67). An invalid one is counted and ignored. */
export function applyGraph(state: State, id: string, graph: Graph): void {
  const task = state.tasks.get(id);
  if (task === undefined) return count(state, "unknownTasks");
  if (!validateGraph(graph).ok) return count(state, "graphsRefused");
  if (task.graph !== null) count(state, "graphsRevised");
  const compiled = sharedGraph(state, graph);
  task.revision += 1;
  const before = new Map(task.stages);
  const loopsBefore = new Map<string, TaskState["loops"] extends Map<number, infer L> ? L : never>();
  task.graph?.nodes.forEach((node, index) => {
    const loop = task.loops.get(index);
    if (node.loop !== null && loop !== undefined) loopsBefore.set(node.loop.head, loop);
  });
  task.graph = compiled;
  task.stages.clear();
  task.loops.clear();
  compiled.nodes.forEach((node, index) => {
    if (node.loop !== null) {
      const old = loopsBefore.get(node.loop.head);
      const loop = old ?? { roundsDone: 0, open: false, doneInRound: new Set<string>(), overrun: false, exited: false };
      loop.overrun = false;
      loop.exited = loop.roundsDone >= node.loop.max && !loop.open;
      task.loops.set(index, loop);
    }
    for (const stage of node.stages) {
      const old = before.get(stage.id);
      before.delete(stage.id);
      task.stages.set(stage.id, {
        id: stage.id,
        agent: stage.agent,
        keys: sharedKeys(state, task.tenant, stage.agent, stage.id),
        status: old?.status ?? "blocked",
        attainedSeconds: old?.attainedSeconds ?? 0,
        lostSeconds: old?.lostSeconds ?? 0,
        rounds: old?.rounds ?? 0,
        visits: old?.visits ?? 0,
        roundEndSeconds: old?.roundEndSeconds ?? null,
        sums: old?.sums ?? null,
        marks: old?.marks ?? null,
        declared: compiled.declared.get(stage.id)!,
        virtual: false,
        request: old?.request ?? null,
        voluntaryPreemptions: old?.voluntaryPreemptions ?? 0,
      });
    }
  });
  for (const [name, stage] of before) if (stage.request !== null) task.stages.set(name, { ...stage, virtual: true });
  refreshReadiness(task);
}

/** Hints replace earlier ones field by field; absurd values are dropped or clamped, and counted. */
export function applyHints(state: State, id: string, stageId: string | null, hints: TaskHints): void {
  const task = state.tasks.get(id);
  if (task === undefined) return count(state, "unknownTasks");
  const { expectedOutputTokens, ...rest } = cleanHints(state, hints);
  const stage = stageId === null ? undefined : task.stages.get(stageId);
  const output = expectedOutputTokens === undefined ? {} : { expectedOutputTokens };
  if (stage !== undefined && expectedOutputTokens !== undefined)
    stage.declared = { ...stage.declared, outputTokens: expectedOutputTokens };
  task.hints = { ...task.hints, ...rest, ...(stage === undefined ? output : {}) };
  task.revision += 1;
  if (rest.remainingPathSeconds !== undefined || rest.remainingWorkSeconds !== undefined)
    task.hintAttainedSeconds = task.attainedSeconds;
  if (rest.readyStages !== undefined) believeReady(state, task, rest.readyStages);
}

/** A stage said to be ready proves its predecessors over, unless one of them is seen to have a live call. */
function believeReady(state: State, task: TaskState, stages: readonly string[]): void {
  for (const id of stages) {
    const stage = task.stages.get(id);
    if (stage === undefined) count(state, "unknownStages");
    else if (stage.status === "blocked" && predecessorsLive(task, id)) count(state, "graphContradictions");
    else if (stage.status === "blocked") finishPredecessors(state, task, id);
  }
  refreshReadiness(task);
}

const NOTHING_DECLARED = { rounds: null, serviceSeconds: null, outputTokens: null } as const;

export function newVirtualStage(state: State, tenant: string, id: string, agent: string): StageState {
  return {
    id,
    agent,
    keys: sharedKeys(state, tenant, agent, id),
    status: "ready",
    attainedSeconds: 0,
    lostSeconds: 0,
    rounds: 0,
    visits: 0,
    roundEndSeconds: null,
    sums: null,
    marks: null,
    declared: NOTHING_DECLARED,
    virtual: true,
    request: null,
    voluntaryPreemptions: 0,
  };
}

/** The visit of a stage is over: learn from it, book the loop round, release what waited for it. */
export function finishStage(state: State, task: TaskState, stage: StageState): void {
  if (stage.status === "done" || stage.status === "skipped") return;
  stage.status = "done";
  task.revision += 1;
  learnStage(state, task, stage);
  leaveLoopStage(task, stage);
  refreshReadiness(task);
}

export function applyStageDone(state: State, id: string, stageId: string): void {
  const task = state.tasks.get(id);
  const stage = task?.stages.get(stageId);
  if (task === undefined || stage === undefined) return count(state, "unknownStages");
  if (stage.request !== null) return count(state, "graphContradictions");
  finishStage(state, task, stage);
}

export function applyStageSkipped(state: State, id: string, stageId: string): void {
  const task = state.tasks.get(id);
  const stage = task?.stages.get(stageId);
  if (task === undefined || stage === undefined) return count(state, "unknownStages");
  if (stage.request !== null) return count(state, "graphContradictions");
  stage.status = "skipped";
  task.revision += 1;
  refreshReadiness(task);
}

/** The task is over: its sessions are worthless; its live calls still get their own terminal events. */
export function applyTaskOver(state: State, id: string, outcome: "done" | "cancelled"): void {
  const task = state.tasks.get(id);
  if (task === undefined) return;
  if (!task.done && outcome === "done") {
    state.ageScale.completed += 1;
    const weight = Math.max(0.02, 1 / state.ageScale.completed);
    state.ageScale.seconds += weight * (Math.max(1, task.attainedSeconds) - state.ageScale.seconds);
    learnTask(state, task);
  }
  task.done = true;
  task.revision += 1;
  for (const entry of state.sessionsOf.get(id) ?? []) entry.dead = true;
  forgetTaskIfOver(state, task);
}

export function forgetTaskIfOver(state: State, task: TaskState): void {
  if (!task.done || task.live > 0) return;
  state.tasks.delete(task.id);
  for (const entry of state.sessionsOf.get(task.id) ?? []) forgetIfUnused(state, entry);
}
