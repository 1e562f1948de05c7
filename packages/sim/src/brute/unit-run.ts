import {
  advance,
  apply,
  flatten,
  initialState,
  pinnedAgents,
  readyCalls,
  type FlatCall,
  type UnitInstance,
  type UnitState,
} from "./unit-engine.ts";

export interface UnitView {
  readonly instance: UnitInstance;
  readonly calls: readonly FlatCall[];
  readonly state: UnitState;
  readonly ready: readonly FlatCall[];
}

/** Calls to start, most wanted first; those that do not fit are passed over. `stop` first, on engines that can restart. */
export type UnitPolicy = (view: UnitView) => { readonly start: readonly FlatCall[]; readonly stop?: readonly FlatCall[] };

export interface UnitRun {
  readonly meanJct: number;
  readonly makespan: number;
  readonly setups: number;
  /** [call, start, end] in order of starting; stopped attempts are left out. */
  readonly intervals: readonly (readonly [call: number, start: number, end: number])[];
}

/** Runs a policy on the unit engine; prefixes leave least recently used first. @throws RangeError when it idles for ever. */
export function runUnit(instance: UnitInstance, policy: UnitPolicy): UnitRun {
  const calls = flatten(instance);
  const started = new Map<number, number>();
  const ended = new Map<number, number>();
  const lastUse = instance.agents.map(() => -1);
  let setups = 0;
  let state = initialState(instance, calls);
  while (state.left.some((left) => left !== -1)) {
    const choice = policy({ instance, calls, state, ready: readyCalls(state, calls) });
    const stop = (choice.stop ?? []).map(({ id }) => id);
    if (stop.length > 0) state = apply(instance, calls, state, { start: [], stop, evict: [] }) ?? state;
    for (const call of choice.start) {
      if (state.left[call.id] !== 0) continue;
      const next = startWithLru(instance, calls, state, call, lastUse);
      if (next === null) continue;
      if (state.resident[call.agent] === -1) setups += 1;
      state = next;
      started.set(call.id, state.time);
    }
    const running = pinnedAgents(state, calls);
    const before = state;
    const later = advance(instance, state);
    if (later === null) throw new RangeError(`policy idles for ever at ${state.time} with calls waiting`);
    state = later;
    for (const agent of running) lastUse[agent] = state.time;
    for (const { id } of calls) if (before.left[id]! > 0 && state.left[id] === -1) ended.set(id, state.time);
  }
  const completions = instance.tasks.map(
    ({ arrival }, task) => Math.max(...calls.filter((call) => call.task === task).map(({ id }) => ended.get(id)!)) - arrival,
  );
  const intervals = calls
    .map(({ id }) => [id, started.get(id)!, ended.get(id)!] as const)
    .toSorted((a, b) => a[1] - b[1] || a[0] - b[0]);
  return { meanJct: completions.reduce((a, b) => a + b, 0) / completions.length, makespan: state.time, setups, intervals };
}

function startWithLru(
  instance: UnitInstance,
  calls: readonly FlatCall[],
  state: UnitState,
  call: FlatCall,
  lastUse: readonly number[],
): UnitState | null {
  const pinned = pinnedAgents(state, calls);
  const candidates = state.resident.flatMap((at, agent) =>
    at >= 0 && !pinned.has(agent) && agent !== call.agent ? [agent] : [],
  );
  const oldestFirst = candidates.toSorted((a, b) => lastUse[a]! - lastUse[b]!);
  for (let count = 0; count <= oldestFirst.length; count++) {
    const next = apply(instance, calls, state, { start: [call.id], evict: oldestFirst.slice(0, count) });
    if (next !== null) return next;
  }
  return null;
}
