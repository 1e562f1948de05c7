import { toBlocks } from "../config.ts";
import { callArea, callSeconds } from "../estimate/area.ts";
import { createEstimator, outputLimitTokens, type Estimator } from "../estimate/estimator.ts";
import { taskPath } from "../graph/path.ts";
import { frontier } from "../graph/progress.ts";
import type { Reserve } from "../policy/policy.ts";
import { generatedTokens, type RequestState, type State, type TaskState } from "../state.ts";
import { createView } from "../view.ts";
import type { Item } from "./item.ts";
import { baseKey, contributionOf } from "./key.ts";
import type { IndexSettings } from "./settings.ts";

/** What measuring an item needs besides the item. */
export interface Measures {
  readonly state: State;
  readonly settings: IndexSettings;
  readonly reserve: Reserve;
  /** Means only: lengths, areas and W_i need no joint samples. */
  readonly means: Estimator;
}

export function measuresFor(state: State, settings: IndexSettings, reserve: Reserve): Measures {
  const means = createEstimator(state, { estimate: settings.difficulty, samples: 1, exactUpTo: 0 });
  return { state, settings, reserve, means };
}

/** Reads the sizes of one call: o_r, A_r, s_r, need_r (algorithm 2.1, 2.7). */
export function measureCall({ state, means, settings, reserve }: Measures, item: Item): void {
  const { request } = item;
  const { speeds } = state.config;
  const q = request.spec.ownPromptTokens;
  const y = generatedTokens(request);
  const limit = outputLimitTokens(request);
  const known = settings.truth?.outputTokens(request.spec) ?? null;
  const o = known === null ? means.expectedOutputTokens(request) : Math.min(limit, known);
  item.limitTokens = limit;
  item.outputTokens = y === 0 || known !== null ? o : means.expectedOutputTokens(unstarted(request));
  item.areaTokenSeconds = callArea(speeds, q, o);
  item.serviceSeconds = callSeconds(speeds, q, o);
  item.endSeconds = callSeconds(speeds, q, Math.min(Math.max(0, limit - y), Math.max(o - y, 32)));
  const asked = known === null && state.tasks.get(request.spec.task)?.hints.reserveTokens !== undefined;
  const reserved = asked ? means.reservedOutputTokens(request) : o;
  if (asked) item.outputTokens = Math.max(item.outputTokens, reserved);
  item.needTokens = needTokens(state, reserve, request, reserved);
}

/** need_r; the shapes every index profile uses are computed here, any other part is asked. */
function needTokens(state: State, reserve: Reserve, request: RequestState, outputTokens: number): number {
  const own = request.spec.ownPromptTokens;
  const limit = outputLimitTokens(request);
  if (reserve.id === "full") return toBlocks(state.config, own + limit);
  if (reserve.id !== "peak" && reserve.id !== "mean") return createView(state, state.nowSeconds, reserve).needTokens(request);
  return toBlocks(state.config, own + Math.min(limit, Math.max(outputTokens, generatedTokens(request) + 32)));
}

function unstarted(request: RequestState): RequestState {
  return { ...request, redoneTokens: 0, decodedTokens: 0 };
}

/** Base keys of all live calls of one task; W_i and the path are read once (algorithm 5.1). */
export function measureKeys({ state, means, settings }: Measures, items: ReadonlySet<Item>, taskId: string): void {
  const task = state.tasks.get(taskId);
  const area =
    task === undefined ? null : (settings.truth?.remainingAreaTokenSeconds(taskId) ?? means.remainingAreaTokenSeconds(task));
  const path =
    task === undefined || isChain(task)
      ? null
      : taskPath(task, createEstimator(state, { estimate: settings.difficulty, roundGain: "call" }));
  for (const item of items) {
    const { stage: id } = item.request.spec;
    const stage = task?.stages.get(id);
    let delta = item.serviceSeconds;
    if (task !== undefined && stage !== undefined)
      delta = path === null ? means.residualSeconds(task, stage) : path.delta(id, undefined, "call");
    item.base = baseKey({
      weight: task?.weight ?? 1,
      contribution: contributionOf(delta, item.serviceSeconds),
      remainingAreaTokenSeconds: area ?? item.areaTokenSeconds,
    });
  }
}

/** One call, and nothing beside its stage is open: Delta_call is what is left of the stage, up to the call's own service. */
function isChain(task: TaskState): boolean {
  if (task.live > 1 || task.loops.size > 0) return false;
  return task.graph === null || frontier(task).length <= 1;
}
