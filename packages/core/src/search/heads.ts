import type { Gains } from "../score/admit.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";

/** A waiting request that a search weighs. */
export interface Head {
  readonly request: RequestState;
  readonly group: number;
  readonly need: number;
  /** max(gainFloor * E[Z], Delta(r | nothing of its task taken)), seconds before aging. */
  readonly base: number;
  readonly age: number;
  /** What heads are ranked by: age x base, by density per token of need. */
  readonly worth: number;
  readonly arrival: number;
}

/** Heads of one prefix: this many best ones, the oldest always among them. */
const MOST_HEADS = 64;

export function bestHeads(view: View, gains: Gains, waiting: readonly RequestState[], group: number, byDensity: boolean): Head[] {
  const headOf = (request: RequestState, base: number, age: number): Head => {
    const need = view.needTokens(request);
    const worth = byDensity ? (age * base) / Math.max(1, need) : age * base;
    return { request, group, need, base, age, worth, arrival: view.taskArrivalSeconds(request) };
  };
  if (waiting.length <= MOST_HEADS)
    return waiting.map((request) => headOf(request, gains.base(request, undefined), gains.age(request)));
  const bases = new Float64Array(waiting.length);
  const ages = new Float64Array(waiting.length);
  const worths = new Float64Array(waiting.length);
  waiting.forEach((request, i) => {
    bases[i] = gains.base(request, undefined);
    ages[i] = gains.age(request);
    worths[i] = bases[i]! * ages[i]!;
    if (byDensity) worths[i]! /= Math.max(1, view.needTokens(request));
  });
  const bar = Float64Array.from(worths).sort()[worths.length - MOST_HEADS]!;
  const heads: Head[] = [];
  let oldest: Head | null = null;
  waiting.forEach((request, i) => {
    const arrival = view.taskArrivalSeconds(request);
    const older = oldest === null || arrival <= oldest.arrival;
    if (worths[i]! < bar && !older) return;
    const head = headOf(request, bases[i]!, ages[i]!);
    if (worths[i]! >= bar) heads.push(head);
    if (oldest === null || compareAge(head, oldest) < 0) oldest = head;
  });
  heads.sort(compareHeads);
  heads.length = Math.min(heads.length, MOST_HEADS);
  if (oldest !== null && !heads.includes(oldest)) heads[heads.length - 1] = oldest;
  return heads;
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
