import { align, type Aligned } from "../aligned.ts";
import type { PolicyOptions } from "../policy/policy.ts";
import { overran } from "../graph/ahead.ts";
import { generatedTokens, type RequestState, type State, type TaskState } from "../state.ts";
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
const kept = new WeakMap<PolicyOptions, Store>();

interface Store {
  readonly byRequest: WeakMap<RequestState, Weight>;
  /** Of the queue that was weighed last. */
  readonly queues: WeakMap<State, Aligned<RequestState, Weight>>;
}

/** Whether gains depend on nothing but the task's own events. */
export function gainsLast(options: PolicyOptions): boolean {
  return options.roundGain === "stage" && options.value === "seconds";
}

/** Later than any arrival: an age of 0. */
const NO_AGE = Number.MAX_SAFE_INTEGER;

const NOTHING: ReadonlySet<string> = new Set();

export interface Weights {
  readonly of: (request: RequestState) => Weight;
  /** Those of a whole queue, in order; to be read before the next call. */
  readonly ofAll: (queue: readonly RequestState[]) => readonly Weight[];
}

export function createWeights(view: View, options: PolicyOptions): Weights {
  const worth = createWorth(view, options);
  const lasting = gainsLast(options);
  const { byRequest, queues } = storeFor(options);
  const find = (request: RequestState): Weight => {
    let weight = byRequest.get(request);
    if (weight === undefined) {
      const task = view.state.tasks.get(request.spec.task) ?? null;
      weight = { task, arrival: task?.arrivalSeconds ?? request.readySeconds, revision: -1, base: 0, upper: 0 };
      byRequest.set(request, weight);
    }
    return weight;
  };
  const renew = (weight: Weight, task: TaskState, request: RequestState): void => {
    weight.arrival = overran(task) ? NO_AGE : task.arrivalSeconds;
    const path = view.path(task.id)!;
    const whole = path.residual(request.spec.stage);
    const delta = worth.deltas(task, path, [request], NOTHING)[0]!;
    const kept = keptShare(view, options, request, whole);
    weight.base = kept * worth.value(task, path, Math.max(options.gainFloor * whole, delta));
    weight.upper = kept * worth.value(task, path, Math.max(1, options.gainFloor) * whole);
    weight.revision = task.revision;
  };
  const fresh = ({ task, revision }: Weight): boolean => task === null || (lasting && revision === task.revision);
  return {
    of(request) {
      const weight = find(request);
      if (!fresh(weight)) renew(weight, weight.task!, request);
      return weight;
    },
    ofAll(queue) {
      let aligned = queues.get(view.state);
      if (aligned === undefined) queues.set(view.state, (aligned = { keys: [], values: [] }));
      const weights = align(aligned, queue, find);
      for (let i = 0; i < weights.length; i++) if (!fresh(weights[i]!)) renew(weights[i]!, weights[i]!.task!, queue[i]!);
      return weights;
    },
  };
}

function storeFor(options: PolicyOptions): Store {
  let store = kept.get(options);
  if (store === undefined) kept.set(options, (store = { byRequest: new WeakMap(), queues: new WeakMap() }));
  return store;
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
