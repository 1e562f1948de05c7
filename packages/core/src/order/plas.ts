import type { AllOptions } from "../policy/baseline-options.ts";
import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import type { View } from "../view.ts";
import { byReady } from "./compare.ts";
import { completedSeconds, waitedSeconds } from "./service.ts";

/** Attained service a call is classed by, seconds. */
export type Attained = (view: View, request: RequestState) => number;

/** floor(log2(1 + svc/2)): classes begin at 0, 2, 6, 14, ... s; each is twice as long as the one before. */
export function serviceClass(seconds: number): number {
  return Math.floor(Math.log2(1 + Math.max(0, seconds) / 2));
}

/** Class of a waiting or running call; a program that waited `starvedRatio` times its service is in class 0. */
export function classOf(view: View, request: RequestState, attained: Attained, starvedRatio: number): number {
  const service = view.state.tasks.get(request.spec.task)?.attainedSeconds ?? 0;
  if (waitedSeconds(view, request) >= starvedRatio * service) return 0;
  return serviceClass(attained(view, request));
}

/** Least attained service in classes, first come first served within a class (Autellix, arXiv 2502.13965). */
export function classOrder(id: string, options: AllOptions, attained: Attained): KeyOrder {
  return {
    kind: "keys",
    id,
    timeVarying: true,
    residencyBound: false,
    sort(view, queue) {
      const classes = new Map(queue.map((request) => [request, classOf(view, request, attained, options.starvedRatio)]));
      return queue.toSorted((a, b) => classes.get(a)! - classes.get(b)! || byReady(a, b));
    },
  };
}

/** PLAS: svc = seconds of the program's completed calls. */
export const plas = (options: AllOptions): KeyOrder => classOrder("plas", options, completedSeconds);
