import type { Aligned } from "../aligned.ts";
import type { State, TaskState } from "../state.ts";
import type { Estimator } from "./estimator.ts";
import type { Profile } from "./profile.ts";
import type { TaskReuse } from "./reuse.ts";
import type { JointPath } from "../graph/joint-path.ts";
import type { Scratch, TaskLengths } from "./task-lengths.ts";
import { buildTable, extendTable, type SampleTable } from "./table.ts";

/**
 * What is derived from a state and kept between decisions. It lives beside the state, found by the state object itself, so
 * that `decide` leaves the state deep-equal and a copy of a state starts with none.
 */
export interface EstimateCache {
  /** By rounds of the prior (-1: own samples only), then by own key. */
  readonly tables: Map<number, Map<string, { stamp: number; table: SampleTable }>>;
  /** By options, then by task: frozen estimates of its stages. */
  readonly lengths: Map<string, LengthsCache>;
  /** By options, then by task: its longest paths. */
  readonly paths: Map<string, WeakMap<TaskLengths, JointPath>>;
  /** By the object of options they were asked with. */
  readonly estimators: WeakMap<object, Estimator>;
  /** By task: the uses of prefixes it makes likely. */
  readonly reuse: Aligned<TaskState, TaskReuse>;
}

export interface LengthsCache {
  byTask: WeakMap<TaskState, TaskLengths>;
  entries: number;
  readonly scratch: Scratch;
}

const caches = new WeakMap<State, EstimateCache>();
const MOST_TABLES = 2_048;

export function cacheOf(state: State): EstimateCache {
  let cache = caches.get(state);
  if (cache === undefined) {
    cache = {
      tables: new Map(),
      lengths: new Map(),
      paths: new Map(),
      estimators: new WeakMap(),
      reuse: { keys: [], values: [] },
    };
    caches.set(state, cache);
  }
  return cache;
}

/** The sample table of a key chain, renewed when a level it reads has learned something. Read it before asking for another. */
export function tableFor(state: State, keys: readonly string[], priorRounds: number, fill: boolean): SampleTable {
  const { tables } = cacheOf(state);
  const { profile } = state;
  const { speeds } = state.config;
  const rounds = fill ? priorRounds : -1;
  const own = keys[0] ?? "";
  const stamp = stampOf(profile, keys, fill);
  let byKey = tables.get(rounds);
  const known = byKey?.get(own);
  if (known?.stamp === stamp) return known.table;
  if (known !== undefined && extendTable(known.table, profile.stats.get(own)?.stageRing, speeds)) {
    known.stamp = stamp;
    return known.table;
  }
  const table = buildTable(profile, keys, speeds, priorRounds, fill);
  const full = held(tables) >= MOST_TABLES;
  if (full) tables.clear();
  if (byKey === undefined || full) tables.set(rounds, (byKey = new Map()));
  byKey.set(own, { stamp, table });
  return table;
}

function held(tables: EstimateCache["tables"]): number {
  let count = 0;
  for (const byKey of tables.values()) count += byKey.size;
  return count;
}

/** Stages seen at every level the table reads: a level is read only while those below it hold fewer than 8. */
function stampOf(profile: Profile, keys: readonly string[], fill: boolean): number {
  let stamp = 0;
  for (const key of keys) {
    const seen = profile.stats.get(key)?.stageRing.seen ?? 0;
    stamp += seen;
    if (!fill || seen >= 8) break;
  }
  return stamp;
}
