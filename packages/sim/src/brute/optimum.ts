import {
  advance,
  apply,
  flatten,
  initialState,
  openTasks,
  pinnedAgents,
  readyCalls,
  type FlatCall,
  type UnitInstance,
  type UnitState,
} from "./unit-engine.ts";

export interface Optimum {
  readonly meanJct: number;
  readonly states: number;
}

/**
 * Least mean completion time over every schedule of the unit engine, idling, stopping and any choice of evictions included.
 * Acting only at arrivals and ends loses nothing: a start between two of them can move back to the first, since room changes
 * only there. Sum of completion times = integral of open tasks, so equal states at other times share their future.
 * @throws RangeError beyond `mostStates`; made for four tasks or fewer.
 */
export function bestMeanJct(instance: UnitInstance, mostStates = 400_000): Optimum {
  const calls = flatten(instance);
  const known = new Map<string, number>();
  const future = (state: UnitState): number => {
    if (state.left.every((left) => left === -1)) return 0;
    const key = keyOf(instance, state);
    const before = known.get(key);
    if (before !== undefined) return before;
    if (known.size >= mostStates) throw new RangeError(`more than ${mostStates} states: instance too large to try everything`);
    known.set(key, Infinity);
    let best = Infinity;
    for (const next of moves(instance, calls, state)) {
      const later = advance(instance, next);
      if (later === null) continue;
      const cost = openTasks(instance, calls, next) * (later.time - next.time);
      best = Math.min(best, cost + future(later));
    }
    known.set(key, best);
    return best;
  };
  const total = future(initialState(instance, calls));
  return { meanJct: total / instance.tasks.length, states: known.size };
}

function keyOf(instance: UnitInstance, { time, left, resident }: UnitState): string {
  return `${left.join()}|${resident.join()}|${instance.tasks.map(({ arrival }) => Math.max(0, arrival - time)).join()}`;
}

/** Every state one decision can lead to. */
function* moves(instance: UnitInstance, calls: readonly FlatCall[], state: UnitState): Generator<UnitState> {
  const running = instance.restarts === true ? calls.filter(({ id }) => state.left[id]! > 0).map(({ id }) => id) : [];
  for (const stop of subsets(running, running.length)) {
    const stopped = apply(instance, calls, state, { start: [], stop, evict: [] });
    if (stopped === null) continue;
    const ready = readyCalls(stopped, calls).filter(({ id }) => !stop.includes(id));
    const unpinned = (pinned: ReadonlySet<number>): number[] =>
      stopped.resident.flatMap((at, agent) => (at >= 0 && !pinned.has(agent) ? [agent] : []));
    const free = instance.slots - stopped.left.filter((left) => left > 0).length;
    const readyIds = ready.map(({ id }) => id);
    for (const start of subsets(readyIds, free)) {
      const needed = new Set([...pinnedAgents(stopped, calls), ...start.map((id) => calls[id]!.agent)]);
      const tried: (readonly number[])[] = [];
      for (const evict of bySize(subsets(unpinned(needed), instance.agents.length))) {
        if (tried.some((less) => less.every((agent) => evict.includes(agent)))) continue;
        const next = apply(instance, calls, stopped, { start, evict });
        if (next === null) continue;
        tried.push(evict);
        yield next;
      }
    }
  }
}

function subsets(items: readonly number[], most: number): (readonly number[])[] {
  return items.reduce<(readonly number[])[]>(
    (sets, item) => [...sets, ...sets.flatMap((set) => (set.length < most ? [[...set, item]] : []))],
    [[]],
  );
}

function bySize(sets: readonly (readonly number[])[]): (readonly number[])[] {
  return sets.toSorted((a, b) => a.length - b.length);
}
