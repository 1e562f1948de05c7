import { toBlocks } from "../config.ts";
import { outputLimitTokens, serviceSeconds, type Estimator } from "../estimate/estimator.ts";
import { taskPath } from "../graph/path.ts";
import type { Reserve } from "../policy/policy.ts";
import { generatedTokens, type RequestState, type State, type TaskState } from "../state.ts";
import { createView } from "../view.ts";
import type { Item } from "./item.ts";
import { baseKey, contributionOf } from "./key.ts";
import type { IndexSettings } from "./settings.ts";

/** What measuring an item needs besides the item. */
export interface Measures {
  readonly state: State;
  readonly estimator: Estimator;
  readonly settings: IndexSettings;
  readonly reserve: Reserve;
}

/** Reads the sizes of one call: o_r, A_r, s_r, need_r (algorithm 2.1, 2.7). */
export function measureCall({ state, estimator, settings, reserve }: Measures, item: Item): void {
  const { request } = item;
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = state.config.speeds;
  const q = request.spec.ownPromptTokens;
  const known = settings.truth?.outputTokens(request.spec) ?? null;
  item.limitTokens = outputLimitTokens(request);
  item.outputTokens = Math.min(item.limitTokens, known ?? estimator.expectedOutputTokens(unstarted(request)));
  const o = known === null ? estimator.expectedOutputTokens(request) : item.outputTokens;
  item.areaTokenSeconds = known === null ? estimator.callAreaTokenSeconds(request) : h * (q * o + (o * o) / 2) + p * q * q;
  item.serviceSeconds = known === null ? estimator.callServiceSeconds(request) : serviceSeconds(state, q, o);
  const generated = generatedTokens(request);
  const left = Math.min(Math.max(0, item.limitTokens - generated), Math.max(o - generated, 32));
  item.endSeconds = serviceSeconds(state, q, left);
  item.needTokens = needTokens(state, reserve, request, o);
}

/** need_r; the two shapes every index profile uses are computed here, any other part is asked. */
function needTokens(state: State, reserve: Reserve, request: RequestState, outputTokens: number): number {
  const own = request.spec.ownPromptTokens;
  const limit = outputLimitTokens(request);
  if (reserve.id === "full") return toBlocks(state.config, own + limit);
  if (reserve.id !== "peak" && reserve.id !== "mean") return createView(state, state.nowSeconds, reserve).needTokens(request);
  return toBlocks(state.config, own + Math.min(limit, Math.max(outputTokens, generatedTokens(request) + 32)));
}

function unstarted(request: RequestState): RequestState {
  return generatedTokens(request) === 0 ? request : { ...request, redoneTokens: 0, decodedTokens: 0 };
}

/** Base keys of all live calls of one task; W_i and the path are read once (algorithm 5.1). */
export function measureKeys({ state, estimator, settings }: Measures, items: Iterable<Item>, taskId: string): void {
  const task = state.tasks.get(taskId);
  const area = task === undefined ? null : remainingArea(estimator, settings, task);
  const path = task === undefined || isChain(task) ? null : taskPath(task, estimator);
  for (const item of items) {
    const { stage: id } = item.request.spec;
    const stage = task?.stages.get(id);
    let delta = item.serviceSeconds;
    if (task !== undefined && stage !== undefined)
      delta = path === null ? estimator.residualSeconds(task, stage) : path.delta(id, undefined, "call");
    item.base = baseKey({
      weight: task?.weight ?? 1,
      contribution: contributionOf(delta, item.serviceSeconds),
      remainingAreaTokenSeconds: area ?? item.areaTokenSeconds,
    });
  }
}

function remainingArea(estimator: Estimator, settings: IndexSettings, task: TaskState): number {
  return settings.truth?.remainingAreaTokenSeconds(task.id) ?? estimator.remainingAreaTokenSeconds(task);
}

/** One call at a time and no graph: Delta_call is what is left of its stage. */
function isChain(task: TaskState): boolean {
  return task.graph === null && task.live <= 1;
}
