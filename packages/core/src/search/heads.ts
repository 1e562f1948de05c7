import type { Gains } from "../score/admit.ts";
import type { Weight } from "../score/weights.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** A waiting request that a search weighs. */
export interface Head {
  readonly request: RequestState;
  readonly weight: Weight;
  readonly group: number;
  readonly need: number;
  readonly age: number;
  /** What heads are ranked by: age x base, by density per token of need. */
  readonly worth: number;
  readonly arrival: number;
}

/** Heads of one prefix: this many best ones, the oldest always among them. */
const MOST_HEADS = 64;

/** The waiting requests of one prefix, and their weights. */
export interface Queue {
  readonly waiting: readonly RequestState[];
  readonly weights: readonly Weight[];
}

export function bestHeads(view: View, gains: Gains, { waiting, weights }: Queue, group: number, byDensity: boolean): Head[] {
  const long = waiting.length > MOST_HEADS;
  const worths = new Float64Array(waiting.length);
  const ages = new Float64Array(waiting.length);
  let oldest = 0;
  for (let i = 0; i < waiting.length; i++) {
    const { arrival, base } = weights[i]!;
    ages[i] = gains.ageOf(arrival);
    worths[i] = ages[i]! * base;
    if (byDensity) worths[i]! /= Math.max(1, needOf(view, waiting[i]!));
    if (long && olderOf(waiting, weights, i, oldest)) oldest = i;
  }
  const bar = long ? Float64Array.from(worths).sort()[waiting.length - MOST_HEADS]! : -Infinity;
  const heads: Head[] = [];
  for (let i = 0; i < waiting.length; i++) {
    if (worths[i]! < bar && i !== oldest) continue;
    const request = waiting[i]!;
    const weight = weights[i]!;
    const need = needOf(view, request);
    heads.push({ request, weight, group, need, age: ages[i]!, worth: worths[i]!, arrival: weight.arrival });
  }
  if (heads.length <= MOST_HEADS) return heads;
  heads.sort(compareHeads);
  const first = waiting[oldest]!;
  const kept = heads.slice(0, MOST_HEADS);
  if (!kept.some(({ request }) => request === first)) kept[MOST_HEADS - 1] = heads.find(({ request }) => request === first)!;
  return kept;
}

/** Straight from the reserve: a head is asked once per decision, so remembering would cost more than asking. */
function needOf(view: View, request: RequestState): number {
  return view.reserve.need(view, request);
}

function olderOf(waiting: readonly RequestState[], weights: readonly Weight[], a: number, b: number): boolean {
  const delta = weights[a]!.arrival - weights[b]!.arrival;
  return delta < 0 || (delta === 0 && waiting[a]!.spec.id < waiting[b]!.spec.id);
}

/** Best first: gain, then tau_i, smaller need, id. */
export function compareHeads(a: Head, b: Head): number {
  return a.worth === b.worth ? compareAge(a, b) : b.worth - a.worth;
}

/** tau_i, smaller need, id: the ties of every order, and the order of a fill. */
export function compareAge(a: Head, b: Head): number {
  if (a.arrival !== b.arrival) return a.arrival - b.arrival;
  if (a.need !== b.need) return a.need - b.need;
  return a.request.spec.id < b.request.spec.id ? -1 : a.request.spec.id > b.request.spec.id ? 1 : 0;
}
