import type { PolicyOptions } from "../policy/policy.ts";
import { overran } from "../graph/ahead.ts";
import { generatedTokens, type RequestState, type TaskState } from "../state.ts";
import type { View } from "../view.ts";
import { createWorth } from "./worth.ts";

/** What a waiting request is worth when nothing else of its task is taken; unchanged until its task has an event. */
export interface Weight {
  readonly task: TaskState | null;
  /** tau_i; a request of a forgotten task counts from its own arrival, a task past its declared rounds has no age (K68). */
  arrival: number;
  /** The task's revision that `base` and `upper` were worked out at; -1: never. */
  revision: number;
  /** max(gainFloor * E[Z_r], Delta(r | nothing)), seconds before aging. */
  base: number;
  /** Bound on max(gainFloor * E[Z_r], Delta(r | H)) for any H, for Delta(r | H) <= E[Z_r]; seconds. */
  upper: number;
}

/**
 * Weights are kept beside the requests, by policy options, so that a long queue costs one look-up per request and decision.
 * What depends on more than the task's own events (lengths of the call, areas) is worked out every time.
 */
const kept = new WeakMap<PolicyOptions, WeakMap<RequestState, Weight>>();

/** Whether gains depend on nothing but the task's own events. */
export function gainsLast(options: PolicyOptions): boolean {
  return options.roundGain === "stage" && options.value === "seconds";
}

/** Later than any arrival: an age of 0. */
const NO_AGE = Number.MAX_SAFE_INTEGER;

const NOTHING: ReadonlySet<string> = new Set();

export function createWeights(view: View, options: PolicyOptions): (request: RequestState) => Weight {
  const worth = createWorth(view, options);
  const lasting = gainsLast(options);
  let weights = kept.get(options);
  if (weights === undefined) kept.set(options, (weights = new WeakMap()));

  return (request) => {
    let weight = weights.get(request);
    if (weight === undefined) {
      const task = view.state.tasks.get(request.spec.task) ?? null;
      weight = { task, arrival: task?.arrivalSeconds ?? request.readySeconds, revision: -1, base: 0, upper: 0 };
      weights.set(request, weight);
    }
    const { task } = weight;
    if (task === null || (lasting && weight.revision === task.revision)) return weight;
    weight.arrival = overran(task) ? NO_AGE : task.arrivalSeconds;
    const path = view.path(task.id)!;
    const whole = path.residual(request.spec.stage);
    const delta = worth.deltas(task, path, [request], NOTHING)[0]!;
    const kept = keptShare(view, options, request, whole);
    weight.base = kept * worth.value(task, path, Math.max(options.gainFloor * whole, delta));
    weight.upper = kept * worth.value(task, path, Math.max(1, options.gainFloor) * whole);
    weight.revision = task.revision;
    return weight;
  };
}

/**
 * sunkWork kept: what a call was worth before it ran, over what its rest is worth. Service that it keeps over a preemption is
 * no reason to put it behind those who never started.
 */
export function keptShare(view: View, { sunkWork }: PolicyOptions, request: RequestState, residualSeconds: number): number {
  if (sunkWork === "paper" || request.preemptions === 0 || !(residualSeconds > 0)) return 1;
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = view.state.config.speeds;
  return 1 + (p * request.filledTokens + h * generatedTokens(request)) / residualSeconds;
}
