import type { EntryId } from "../events.ts";
import { align } from "../aligned.ts";
import { frameKey } from "../frame-key.ts";
import { frontier, nodeOver } from "../graph/progress.ts";
import type { State, TaskState } from "../state.ts";
import type { View } from "../view.ts";
import { cacheOf } from "./cache.ts";
import { stepsAhead } from "./steps.ts";

/** What one task makes likely, kept until its next event. Agents, since a prefix may change under them. */
export interface TaskReuse {
  readonly task: TaskState;
  revision: number;
  admissions: number;
  soon: ReadonlyMap<string, number> | null;
  steps: ReadonlyMap<string, number> | null;
}

const perView = new WeakMap<View, ReadonlyMap<EntryId, number>>();

/**
 * soon_a: uses of each prefix expected soon: waiting requests (who names a prefix and does not run on it), tools about to answer, and per frontier stage f another round
 * with c_f or else its successors with (1 - c_f)/openPreds (algorithm 2.9).
 */
export function soonUses(view: View): ReadonlyMap<EntryId, number> {
  let known = perView.get(view);
  if (known === undefined) perView.set(view, (known = soonUsesOf(view)));
  return known;
}

function soonUsesOf(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  const { state } = view;
  for (const { id, kind, refs, users } of state.entries.values()) if (kind === "prefix") add(out, id, refs - users);
  for (const reuse of reuseOfAll(state)) {
    const { task } = reuse;
    if (task.done || task.failure !== null || task.lastStage === null) continue;
    reuse.soon ??= soonAgents(view, task);
    if (reuse.soon.size === 0) continue;
    for (const [agent, uses] of reuse.soon) add(out, prefixOf(state, task, agent), uses);
  }
  return out;
}

/** steps_a: stages between now and the nearest use of each prefix: 0 waiting, 1 running or in a tool; absent: none known (2.9). */
export function stepsToUse(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  const { state } = view;
  const nearest = (entry: EntryId | undefined, steps: number): void => {
    if (entry !== undefined && steps < (out.get(entry) ?? Infinity)) out.set(entry, steps);
  };
  for (const request of state.waiting.values()) nearest(request.prefix ?? undefined, 0);
  for (const request of state.running.values()) nearest(request.prefix ?? undefined, 1);
  for (const reuse of reuseOfAll(state)) {
    const { task } = reuse;
    if (task.done || task.failure !== null || task.lastStage === null) continue;
    for (const [agent, steps] of (reuse.steps ??= stepsAhead(task))) nearest(prefixOf(state, task, agent), steps);
  }
  return out;
}

function add(out: Map<EntryId, number>, entry: EntryId | undefined, uses: number): void {
  if (entry !== undefined && uses > 0) out.set(entry, (out.get(entry) ?? 0) + uses);
}

function prefixOf(state: State, task: TaskState, agent: string): EntryId | undefined {
  return state.agentPrefix.get(frameKey(task.tenant, agent));
}

function reuseOfAll(state: State): readonly TaskReuse[] {
  const all = align(cacheOf(state).reuse, state.tasks.values(), noReuse);
  for (const reuse of all) {
    const { revision, admissions } = reuse.task;
    if (reuse.revision === revision && reuse.admissions === admissions) continue;
    reuse.revision = revision;
    reuse.admissions = admissions;
    reuse.soon = reuse.steps = null;
  }
  return all;
}

function noReuse(task: TaskState): TaskReuse {
  return { task, revision: -1, admissions: -1, soon: null, steps: null };
}

/** What one task adds to soon_a beyond its waiting requests, by agent (algorithm 2.9). */
export function soonAgents(view: Pick<View, "estimator" | "state">, task: TaskState): Map<string, number> {
  const out = new Map<string, number>();
  const use = (agent: string, uses: number): void => void out.set(agent, (out.get(agent) ?? 0) + uses);
  const { estimator, state } = view;
  if (task.graph === null) {
    const last = task.lastStage === null ? undefined : task.stages.get(task.lastStage);
    if (last === undefined) return out;
    const again = estimator.anotherRoundProbability(task, last);
    use(last.agent, again);
    const moves = state.profile.workflows.get(frameKey(task.tenant, task.workflow ?? ""))?.moves.get(last.agent);
    let total = 0;
    for (const n of moves?.values() ?? []) total += n;
    for (const [agent, n] of moves ?? []) use(agent, ((1 - again) * n) / (total + 1));
    return out;
  }
  const { nodes } = task.graph;
  for (const index of frontier(task)) {
    const node = nodes[index]!;
    for (const { id, agent } of node.stages) {
      const stage = task.stages.get(id)!;
      if (stage.status === "toolWait") {
        use(agent, 1);
        continue;
      }
      if (stage.status !== "running") continue;
      const again = estimator.anotherRoundProbability(task, stage);
      use(agent, again);
      const inside = node.loop?.edges.filter(([from]) => from === id) ?? [];
      const targets = inside.length > 0 ? inside.map(([, to]) => node.stages.find((s) => s.id === to)!.agent) : [];
      if (node.loop === null) {
        for (const next of node.succs) {
          const openPreds = nodes[next]!.preds.filter((pred) => !nodeOver(task, pred)).length;
          use(nodes[next]!.stages[0]!.agent, (1 - again) / Math.max(1, openPreds));
        }
      } else for (const target of targets) use(target, (1 - again) / targets.length);
    }
  }
  return out;
}
