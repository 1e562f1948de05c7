import { copySeconds, enterSeconds } from "../estimate/cost.ts";
import { cover, physicalOf, type Physical } from "../evict/cover.ts";
import type { Terms } from "../events.ts";
import type { Admission, Plan, Policy } from "../policy/policy.ts";
import { ageAll, meanAge } from "../score/age-terms.ts";
import { moveCost } from "../score/move.ts";
import { nearTermReuse, nearTermReuseOf } from "../estimate/near-term.ts";
import type { EntryState, RequestState } from "../state.ts";
import { freeTokens } from "../ledger.ts";
import { promptCells, type View } from "../view.ts";
import { createCovering } from "./covering.ts";
import type { Packer } from "./greedy-pack.ts";
import type { Pool } from "./pool.ts";

/** Score terms of what a packer holds (Eq. 6-11), and that content as a plan. */
export interface Evaluator {
  readonly physical: Physical;
  /** V_reuse when nothing moves, seconds. */
  readonly idleReuseSeconds: number;
  /** Bound on V_reuse of any plan, seconds. */
  readonly mostReuseSeconds: number;
  terms(packer: Packer, set: Uint8Array): Terms;
  /** Absent prefixes the content brings in. */
  loads(packer: Packer): number;
  plan(packer: Packer, set: Uint8Array): Plan;
}

export function createEvaluator(view: View, policy: Policy, pool: Pool): Evaluator {
  const { options } = policy;
  const { config } = view.state;
  const { groups, ranked, columns, gains } = pool;
  const physical = physicalOf(view, policy.evict);
  const before = nearTermReuse(view);
  const reuseOf = (entry: EntryState, use = before): number =>
    options.beta * (use.get(entry.id) ?? 0) * copySeconds(config.speeds, entry.tokens);
  const resident = [...view.state.entries.values()].filter(({ phase }) => phase === "resident" || phase === "loading");
  const idleReuse = resident.reduce((sum, entry) => sum + reuseOf(entry), 0);
  const enters = Float64Array.from(groups, ({ prefix }) => (prefix?.phase === "absent" ? enterSeconds(config, prefix) : -1));
  const entersReuse = Float64Array.from(groups, ({ prefix }) => (prefix?.phase === "absent" ? reuseOf(prefix) : 0));
  const mostReuse = entersReuse.reduce((sum, seconds) => sum + seconds, idleReuse);
  const victimCells = Float64Array.from(groups, ({ running }) =>
    running.reduce((sum, request) => sum + Math.max(request.cells, promptCells(view, request)), 0),
  );
  const victimLoads = Float64Array.from(groups, ({ prefix, running }) =>
    running.length > 0 && prefix?.phase === "loading" && prefix.loadFor === "requests" ? prefix.tokens : 0,
  );
  const sessionCells = (request: RequestState): number => view.sessionOf(request)?.cells ?? 0;
  const anyDead = physical.order.some((entry) => entry.dead);
  const shortAtRest = physical.outstandingTokens - freeTokens(view.state) - view.state.ledger.pendingFree;
  const covering =
    options.strictPool || options.reuseState === "after" ? null : createCovering(view, pool, physical, (entry) => reuseOf(entry));
  /** Groups with an absent prefix that the content brings in, in order of their first call. */
  const incoming: number[] = [];
  const used = new Uint8Array(groups.length);
  const tasks = new Set<number>();

  /** Cells still missing for the content, before any eviction; an upper estimate where two calls share a session. */
  const shortage = (packer: Packer): number => {
    let short = shortAtRest;
    if (packer.preempted > 0)
      for (let at = 0; at < groups.length; at++) if (packer.leaving[at] === 1) short -= victimCells[at]! + victimLoads[at]!;
    for (let i = 0; i < packer.count; i++) {
      const rank = packer.taken[i]!;
      short += columns.cells[rank]!;
      if (ranked[rank]!.request.spec.session !== null) short -= sessionCells(ranked[rank]!.request);
    }
    for (const at of incoming) short += groups[at]!.prefix!.tokens;
    return short;
  };

  const findIncoming = (packer: Packer): void => {
    incoming.length = 0;
    used.fill(0);
    tasks.clear();
    for (let i = 0; i < packer.count; i++) {
      const rank = packer.taken[i]!;
      const at = columns.group[rank]!;
      const first = used[at] === 0;
      used[at] = 1;
      if (enters[at]! < 0) continue;
      if (first) incoming.push(at);
      tasks.add(columns.task[rank]!);
    }
  };

  /** |T_in|: tasks that wait for an incoming prefix; under `all` also those that run on meanwhile. */
  const stalledTasks = (packer: Packer): number => {
    if (incoming.length === 0 || options.stallBilling === "waiting") return tasks.size;
    const stalled = new Set<string>();
    for (const one of groups)
      if (packer.leaving[one.index] === 0) for (const request of one.running) stalled.add(request.spec.task);
    for (let i = 0; i < packer.count; i++) {
      const rank = packer.taken[i]!;
      if (incoming.includes(columns.group[rank]!)) stalled.add(ranked[rank]!.request.spec.task);
    }
    return stalled.size;
  };

  const reuseAfter = (plan: Plan): ReturnType<typeof nearTermReuse> => {
    const gone = new Set(plan.preempt);
    return nearTermReuseOf(view, [...view.running.filter((one) => !gone.has(one)), ...plan.admit.map(({ request }) => request)]);
  };

  const evaluator: Evaluator = {
    physical,
    idleReuseSeconds: idleReuse,
    mostReuseSeconds: options.reuseState === "after" ? Infinity : mostReuse,
    loads(packer) {
      findIncoming(packer);
      return incoming.length;
    },
    terms(packer, set) {
      findIncoming(packer);
      let admit = 0;
      for (let i = 0; i < packer.count; i++) admit += packer.values[i]!;
      let move = 0;
      let reuse = idleReuse;
      const bill = options.billMove ? stalledTasks(packer) : 0;
      const short = options.strictPool || options.reuseState === "after" ? Infinity : shortage(packer);
      if (covering !== null || (!anyDead && short <= 0)) {
        for (const at of incoming) {
          move += enters[at]!;
          reuse += entersReuse[at]!;
        }
        if (covering !== null) {
          covering.moveSeconds = move;
          covering.reuseSeconds = reuse;
          covering.cover(packer, used, short);
          reuse = covering.reuseSeconds;
          if (options.billSwapOut) move = covering.moveSeconds;
        }
        move = bill === 0 ? 0 : move * bill;
      } else {
        const plan = evaluator.plan(packer, set);
        const moved = cover(view, plan, physical);
        move = moveCost(config, moved.incoming, moved.evict, bill, options.billSwapOut);
        const use = options.reuseState === "after" ? reuseAfter(plan) : before;
        if (use !== before) reuse = resident.reduce((sum, entry) => sum + reuseOf(entry, use), 0);
        for (const entry of moved.incoming) if (entry.phase === "absent") reuse += reuseOf(entry, use);
        for (const entry of moved.evict) reuse -= reuseOf(entry, use);
      }
      const terms: Terms = { admit, move, redo: packer.redoSeconds, revoke: packer.revokeSeconds, reuse };
      return options.ageTerms === "all" ? ageAll(terms, meanAge(agesTouched(packer))) : terms;
    },
    plan(packer, set) {
      const admit: Admission[] = [];
      for (let i = 0; i < packer.count; i++) {
        const { request, need } = ranked[packer.taken[i]!]!;
        admit.push({ request, needTokens: need, gainSeconds: packer.values[i]! });
      }
      const preempt = packer.preempted === 0 ? [] : groups.flatMap((one) => (packer.leaving[one.index] === 1 ? one.running : []));
      return options.strictPool ? { admit, preempt, leave: outside(set) } : { admit, preempt };
    },
  };

  /** strictPool: resident prefixes that are not in the chosen set. */
  const outside = (set: Uint8Array): EntryState[] => {
    const kept = new Set(groups.filter((one) => set[one.index] === 1).map((one) => one.prefix));
    return resident.filter((entry) => entry.kind === "prefix" && entry.phase === "resident" && !kept.has(entry));
  };

  const agesTouched = (packer: Packer): number[] => {
    const ages = new Map<string, number>();
    for (let i = 0; i < packer.count; i++) {
      const { request, age } = ranked[packer.taken[i]!]!;
      ages.set(request.spec.task, age);
    }
    for (const one of groups)
      if (packer.leaving[one.index] === 1)
        for (const request of one.running) ages.set(request.spec.task, gains.ageOf(gains.weight(request).arrival));
    return [...ages.values()];
  };
  return evaluator;
}
