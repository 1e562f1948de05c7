import type { Rng } from "../rng.ts";
import type { FlatCall } from "./unit-engine.ts";
import type { UnitPolicy, UnitView } from "./unit-run.ts";

const byKeys =
  (...keys: readonly ((call: FlatCall, view: UnitView) => number)[]): UnitPolicy =>
  (view) => ({
    start: view.ready.toSorted((a, b) => {
      for (const key of keys) {
        const order = key(a, view) - key(b, view);
        if (order !== 0) return order;
      }
      return a.id - b.id;
    }),
  });

const arrival = (call: FlatCall): number => call.arrival;

/** Longest path of the task's unfinished calls, setups left out. */
export function remainingPath(call: FlatCall, { calls, state }: UnitView): number {
  const own = calls.filter(({ task, id }) => task === call.task && state.left[id] !== -1);
  const done = new Map<number, number>();
  const pathTo = (id: number): number => {
    const known = done.get(id);
    if (known !== undefined) return known;
    const { before, units } = calls[id]!;
    const length = units + Math.max(0, ...before.filter((other) => state.left[other] !== -1).map(pathTo));
    done.set(id, length);
    return length;
  };
  return Math.max(0, ...own.map(({ id }) => pathTo(id)));
}

export const UNIT_POLICIES = {
  fcfs: byKeys(arrival),
  srpt: byKeys(remainingPath, arrival),
  lpm: byKeys(
    (call, { state, instance }) => -(state.resident[call.agent]! >= 0 ? instance.agents[call.agent]!.prefixTokens : 0),
    arrival,
  ),
} as const satisfies Record<string, UnitPolicy>;

/** Any order, with idling and stopping now and then: what no schedule may beat the optimum with. */
export function randomPolicy(rng: Rng): UnitPolicy {
  return ({ ready, calls, state, instance }) => {
    const shuffled = ready.map((call) => [rng.float(), call] as const).toSorted((a, b) => a[0] - b[0]);
    const running = calls.filter(({ id }) => state.left[id]! > 0);
    const more = running.length > 0 || instance.tasks.some((task) => task.arrival > state.time);
    const start = shuffled.filter(() => !more || rng.float() < 0.8).map(([, call]) => call);
    const stop = instance.restarts === true && start.length > 0 ? running.filter(() => rng.float() < 0.1) : [];
    return { start, stop };
  };
}
