import type { Gains } from "../score/admit.ts";
import type { RequestState, TaskState } from "../state.ts";
import type { Head } from "./heads.ts";
import { createSetKeys, type SetKey } from "./set-key.ts";

/** The waiting heads of one task when there are several: what taking some does to the gains of the others. */
export interface Kin {
  /** By rank, ascending. */
  readonly members: readonly number[];
  /** Gain of each member before aging, seconds, once those of `taken` (one byte each) are taken. */
  given(taken: Uint8Array): Float64Array;
}

/** Gains of one set of siblings, kept until their task has an event. */
interface Kept {
  readonly revision: number;
  readonly requests: readonly RequestState[];
  readonly bases: Map<SetKey, Float64Array>;
}

export function groupKin(ranked: readonly Head[], gains: Gains): Kin[] {
  const first = new Map<TaskState | null, number>();
  const several = new Map<TaskState | null, number[]>();
  for (let rank = 0; rank < ranked.length; rank++) {
    const { task } = ranked[rank]!.weight;
    const before = first.get(task);
    if (before === undefined) first.set(task, rank);
    else if (task !== null) {
      const members = several.get(task);
      if (members === undefined) several.set(task, [before, rank]);
      else members.push(rank);
    }
  }
  return [...several.values()].map((members) => kinOf(members, ranked, gains));
}

/** Prepared when first asked: most families of a long queue never are. */
function kinOf(members: readonly number[], ranked: readonly Head[], gains: Gains): Kin {
  let known: { requests: readonly RequestState[]; bases: Kept["bases"]; keyOf: (taken: Uint8Array) => SetKey } | null = null;
  const prepare = (): NonNullable<typeof known> => {
    const requests = members.map((rank) => ranked[rank]!.request);
    return { requests, bases: keptFor(requests, gains).bases, keyOf: createSetKeys(members.length) };
  };
  return {
    members,
    given(taken) {
      const { requests, bases, keyOf } = (known ??= prepare());
      const key = keyOf(taken);
      let found = bases.get(key);
      if (found !== undefined) return found;
      const stages = new Set<string>();
      for (let i = 0; i < requests.length; i++) if (taken[i] === 1) stages.add(requests[i]!.spec.stage);
      found = gains.bases(requests, stages);
      bases.set(key, found);
      return found;
    },
  };
}

const kept = new WeakMap<Gains["scope"], WeakMap<TaskState, Kept>>();
const NO_TASK: Kept = { revision: -1, requests: [], bases: new Map() };

function keptFor(requests: readonly RequestState[], gains: Gains): Kept {
  const { task } = gains.weight(requests[0]!);
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
