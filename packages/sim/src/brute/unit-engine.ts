/**
 * A tiny engine whose best schedule can be found by trying all of them. Its rules:
 * 1. Time is whole units. The scheduler acts when a task arrives or a call ends; a call may start only then.
 * 2. A call is ready when its task has arrived and the calls before it have ended. It runs `units`, however many run beside it.
 * 3. Starting a call pins its agent's prefix. An absent prefix loads first, `setupUnits`; calls of that agent started meanwhile
 *    begin when it is there. Loads do not slow each other, and nothing loads without a call.
 * 4. Resident prefixes and the KV of running calls stay within the budget, running calls within the slots. Prefixes that no
 *    running call pins leave when room is needed, at no cost.
 * 5. A running call may be stopped only if `restarts` is on; it then starts from nothing.
 */
export interface UnitInstance {
  readonly agents: readonly UnitAgent[];
  readonly tasks: readonly UnitTask[];
  readonly budgetTokens: number;
  readonly slots: number;
  readonly restarts?: boolean;
}

export interface UnitAgent {
  readonly prefixTokens: number;
  readonly setupUnits: number;
}

export interface UnitTask {
  readonly arrival: number;
  readonly calls: readonly UnitCall[];
}

export interface UnitCall {
  /** Index into the agents. */
  readonly agent: number;
  readonly units: number;
  readonly kvTokens: number;
  /** Indices of calls of the same task. */
  readonly after: readonly number[];
}

/** Calls are numbered through all tasks. `left`: -1 done, 0 waiting or blocked, above 0 units to its end, loading included. */
export interface UnitState {
  readonly time: number;
  readonly left: readonly number[];
  /** By agent: -1 absent, else units until it is there. */
  readonly resident: readonly number[];
}

export interface FlatCall extends UnitCall {
  readonly id: number;
  readonly task: number;
  readonly arrival: number;
  readonly before: readonly number[];
}

export function flatten(instance: UnitInstance): FlatCall[] {
  const out: FlatCall[] = [];
  instance.tasks.forEach((task, index) => {
    const base = out.length;
    for (const call of task.calls)
      out.push({ ...call, id: out.length, task: index, arrival: task.arrival, before: call.after.map((i) => base + i) });
  });
  return out;
}

export function initialState(instance: UnitInstance, calls: readonly FlatCall[]): UnitState {
  const first = Math.min(...instance.tasks.map(({ arrival }) => arrival));
  return { time: first, left: calls.map(() => 0), resident: instance.agents.map(() => -1) };
}

export function readyCalls(state: UnitState, calls: readonly FlatCall[]): FlatCall[] {
  return calls.filter(
    ({ id, arrival, before }) =>
      state.left[id] === 0 && arrival <= state.time && before.every((other) => state.left[other] === -1),
  );
}

export function pinnedAgents(state: UnitState, calls: readonly FlatCall[]): Set<number> {
  return new Set(calls.filter(({ id }) => state.left[id]! > 0).map(({ agent }) => agent));
}

/** The state after stopping and starting these calls and dropping these prefixes; null when that breaks a rule. */
export function apply(
  instance: UnitInstance,
  calls: readonly FlatCall[],
  state: UnitState,
  move: { start: readonly number[]; stop?: readonly number[]; evict: readonly number[] },
): UnitState | null {
  const left = [...state.left];
  const resident = [...state.resident];
  for (const id of move.stop ?? []) {
    if (instance.restarts !== true || left[id]! <= 0) return null;
    left[id] = 0;
  }
  const inUse = pinnedAgents({ ...state, left }, calls);
  if (move.evict.some((agent) => inUse.has(agent))) return null;
  for (const agent of move.evict) resident[agent] = -1;
  for (const id of move.start) {
    const { agent, units } = calls[id]!;
    if (resident[agent] === -1) resident[agent] = instance.agents[agent]!.setupUnits;
    left[id] = units + resident[agent]!;
  }
  const next: UnitState = { time: state.time, left, resident };
  const running = calls.filter(({ id }) => left[id]! > 0);
  const prefixes = resident.reduce((sum, at, agent) => sum + (at >= 0 ? instance.agents[agent]!.prefixTokens : 0), 0);
  const held = running.reduce((sum, { kvTokens }) => sum + kvTokens, prefixes);
  return running.length <= instance.slots && held <= instance.budgetTokens ? next : null;
}

/** Moves to the next instant at which something arrives or ends; null when nothing ever will. */
export function advance(instance: UnitInstance, state: UnitState): UnitState | null {
  const ends = state.left.filter((left) => left > 0);
  const arrivals = instance.tasks.map(({ arrival }) => arrival - state.time).filter((ahead) => ahead > 0);
  const step = Math.min(...ends, ...arrivals);
  if (step === Infinity) return null;
  return {
    time: state.time + step,
    left: state.left.map((left) => (left > step ? left - step : left > 0 ? -1 : left)),
    resident: state.resident.map((at) => Math.max(at === -1 ? -1 : 0, at - step)),
  };
}

/** Tasks that have arrived and are not over. */
export function openTasks(instance: UnitInstance, calls: readonly FlatCall[], state: UnitState): number {
  return instance.tasks.filter(
    ({ arrival }, task) => arrival <= state.time && calls.some((call) => call.task === task && state.left[call.id] !== -1),
  ).length;
}
