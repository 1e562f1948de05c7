import type { Gains } from "../score/admit.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { Head } from "./heads.ts";
import { createSetKeys, type SetKey } from "./set-key.ts";

/** The waiting heads of one task when there are several: what taking some does to the gains of the others. */
export interface Kin {
  /** By rank, ascending. */
  readonly members: readonly number[];
  /** Gain of each member before aging, seconds, once those of `taken` (one byte each) are taken; nothing for the taken. */
  given(taken: Uint8Array): Float64Array;
}

/** Gains of one set of siblings, kept until their task has an event. */
interface Kept {
  readonly revision: number;
  readonly requests: readonly RequestState[];
  readonly bases: Map<SetKey, Float64Array>;
}

export function groupKin(ranked: readonly Head[], gains: Gains): Kin[] {
  const byTask = new Map<string, number[]>();
  ranked.forEach(({ request }, rank) => {
    const known = byTask.get(request.spec.task);
    if (known === undefined) byTask.set(request.spec.task, [rank]);
    else known.push(rank);
  });
  const out: Kin[] = [];
  for (const members of byTask.values()) if (members.length > 1) out.push(kinOf(members, ranked, gains));
  return out;
}

function kinOf(members: readonly number[], ranked: readonly Head[], gains: Gains): Kin {
  const requests = members.map((rank) => ranked[rank]!.request);
  const { bases } = keptFor(requests, gains);
  const keyOf = createSetKeys(members.length);
  return {
    members,
    given(taken) {
      const key = keyOf(taken);
      let found = bases.get(key);
      if (found !== undefined) return found;
      const stages = new Set<string>();
      requests.forEach((request, i) => {
        if (taken[i] === 1) stages.add(request.spec.stage);
      });
      found = gains.bases(requests, taken, stages);
      bases.set(key, found);
      return found;
    },
  };
}

const kept = new WeakMap<Gains["scope"], WeakMap<TaskState, Kept>>();
const NO_TASK: Kept = { revision: -1, requests: [], bases: new Map() };

function keptFor(requests: readonly RequestState[], gains: Gains): Kept {
  const task = gains.taskOf(requests[0]!);
  if (task === null || !gains.lasting) return { ...NO_TASK, bases: new Map() };
  let byTask = kept.get(gains.scope);
  if (byTask === undefined) kept.set(gains.scope, (byTask = new WeakMap()));
  const old = byTask.get(task);
  if (old?.revision === task.revision && sameList(old.requests, requests)) return old;
  const fresh: Kept = { revision: task.revision, requests, bases: new Map() };
  byTask.set(task, fresh);
  return fresh;
}

function sameList(a: readonly RequestState[], b: readonly RequestState[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
