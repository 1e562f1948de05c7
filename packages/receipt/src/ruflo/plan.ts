import type { Workflow } from "../v1/workflow.ts";
import { agentIds, callsFrom, declaredRounds, isTask, stageIds, stepAfter, waitAfter, type Bounds, type Step } from "./steps.ts";

/** More task steps than this get no graph: stage and agent still go out with every call. */
const GRAPH_STAGES_MAX = 300;

/** Everything a v3 workflow tells before it runs. Positions are those of its `steps`. */
export interface Plan {
  readonly steps: readonly Step[];
  readonly stages: readonly string[];
  readonly agents: readonly (string | null)[];
  /** null: too long, or no task step at all. */
  readonly graph: Workflow | null;
  /** Task steps that can make the next call when the engine goes on at this step. */
  readonly from: (index: number) => readonly number[];
  readonly after: (index: number) => readonly number[];
  /** Task steps that can still run after the call of this one, itself included only in a loop. */
  readonly reach: (index: number) => ReadonlySet<number>;
  /** Calls left, this one included; null: no way to the end is known. `exact`: every way to the end has as many. */
  readonly left: (index: number) => { readonly calls: number; readonly exact: boolean } | null;
  readonly waitAfter: (index: number) => number;
}

export interface PlanOptions {
  /** Laps assumed of a loop that declares none. */
  readonly loop: Bounds;
  readonly defaultAgent?: unknown;
}

/** O(task steps * steps); an endless loop and a jump out of the list are plans like any other. */
export function makePlan(steps: readonly Step[], options: PlanOptions): Plan {
  const stages = stageIds(steps);
  const agents = agentIds(steps, stages, options.defaultAgent);
  const tasks = steps.flatMap((step, index) => (isTask(step) ? [index] : []));
  const small = tasks.length > 0 && tasks.length <= GRAPH_STAGES_MAX;
  const next = new Map(tasks.map((index) => [index, callsFrom(steps, index + 1)]));
  const reach = new Map(small ? tasks.map((index) => [index, reachable(index, next)]) : []);
  const after = (index: number): readonly number[] => next.get(index)?.tasks ?? [];
  const reachOf = (index: number): ReadonlySet<number> => reach.get(index) ?? new Set();
  const least = callsLeft(tasks, next);
  return {
    steps,
    stages,
    agents,
    graph: small ? graphOf(steps, stages, agents, tasks, after, reachOf, options.loop) : null,
    from: (index) => callsFrom(steps, index).tasks,
    after,
    reach: reachOf,
    left: (index) => {
      const calls = least.get(index);
      return calls === undefined ? null : { calls, exact: small && exact(index, after, reachOf, next, least) };
    },
    waitAfter: (index) => waitAfter(steps, index),
  };
}

type Next = ReadonlyMap<number, { readonly tasks: readonly number[]; readonly ends: boolean }>;

function reachable(start: number, next: Next): ReadonlySet<number> {
  const seen = new Set<number>();
  const open = [...(next.get(start)?.tasks ?? [])];
  while (open.length > 0) {
    const at = open.pop()!;
    if (seen.has(at)) continue;
    seen.add(at);
    open.push(...(next.get(at)?.tasks ?? []));
  }
  return seen;
}

/** Fewest calls to the end of the workflow, level by level backwards from the end. */
function callsLeft(tasks: readonly number[], next: Next): ReadonlyMap<number, number> {
  const before = new Map<number, number[]>();
  for (const from of tasks)
    for (const to of next.get(from)!.tasks) {
      const list = before.get(to);
      if (list === undefined) before.set(to, [from]);
      else list.push(from);
    }
  const left = new Map<number, number>();
  let level = tasks.filter((index) => next.get(index)!.ends);
  for (let calls = 1; level.length > 0; calls++) {
    for (const index of level) left.set(index, calls);
    level = [...new Set(level.flatMap((index) => before.get(index) ?? []))].filter((index) => !left.has(index));
  }
  return left;
}

/** True: every way from here to the end makes the same number of calls. */
function exact(
  index: number,
  after: Plan["after"],
  reach: Plan["reach"],
  next: Next,
  least: ReadonlyMap<number, number>,
): boolean {
  for (const at of [index, ...reach(index)]) {
    const calls = least.get(at);
    if (calls === undefined || reach(at).has(at)) return false;
    if (after(at).some((to) => least.get(to) !== calls - 1)) return false;
    if (next.get(at)!.ends && calls !== 1) return false;
  }
  return true;
}

function graphOf(
  steps: readonly Step[],
  stages: readonly string[],
  agents: readonly (string | null)[],
  tasks: readonly number[],
  after: Plan["after"],
  reach: Plan["reach"],
  bounds: Bounds,
): Workflow {
  const loops: NonNullable<Workflow["loops"]> = [];
  const placed = new Set<number>();
  for (const index of tasks) {
    if (placed.has(index) || !reach(index).has(index)) continue;
    const members = tasks.filter((other) => other === index || (reach(index).has(other) && reach(other).has(index)));
    for (const member of members) placed.add(member);
    loops.push({ stages: members.map((member) => stages[member]!), ...(boundsOf(steps, new Set(members)) ?? bounds) });
  }
  return {
    stages: tasks.map((index) => {
      const agent = agents[index] ?? null;
      return { id: stages[index]!, ...(agent === null ? {} : { agent }) };
    }),
    edges: tasks.flatMap((index) => after(index).map((to): [string, string] => [stages[index]!, stages[to]!])),
    ...(loops.length > 0 ? { loops } : {}),
  };
}

/** Declared by the condition that sends the engine back into this loop. */
function boundsOf(steps: readonly Step[], members: ReadonlySet<number>): Bounds | null {
  for (const [index, step] of steps.entries()) {
    if (step.type !== "condition") continue;
    const back = stepAfter(steps, index).some(
      (to) => to <= index && callsFrom(steps, to).tasks.some((task) => members.has(task)),
    );
    const rounds = back ? declaredRounds(step) : null;
    if (rounds !== null) return rounds;
  }
  return null;
}
