import type { Admission, Plan, Policy } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import { roomAfter, type View } from "../view.ts";
import { compareHeads, type Head, type Pool } from "./pool.ts";

/**
 * GREEDYPACK: the plan that keeps exactly the prefixes of `kept` (by group index) running and fills the room by marginal
 * gain. null: this set is infeasible (a victim is not eligible, too many victims, or what must be held back does not fit).
 */
export function greedyPack(view: View, policy: Policy, pool: Pool, kept: ReadonlySet<number>): Plan | null {
  const { options } = policy;
  const stays = (index: number): boolean => pool.groups[index]!.prefix === null || kept.has(index);
  const preempt: RequestState[] = [];
  for (const group of pool.groups) if (!stays(group.index)) preempt.push(...group.running);
  if (preempt.length > options.maxPerDecision) return null;
  if (preempt.length > 0 && !policy.preempt.voluntary) return null;
  for (const victim of preempt) if (!policy.preempt.eligible(view, victim, options)) return null;

  const leaving = new Set(preempt);
  const staying = preempt.length === 0 ? view.running : view.running.filter((request) => !leaving.has(request));
  let room = preempt.length === 0 ? view.roomTokens : roomAfter(view, staying);
  let slots = view.slots + preempt.length;

  const holdbacks = new Map<number, number>();
  for (const index of kept) {
    const group = pool.groups[index]!;
    if (group.prefix === null || group.running.length > 0 || group.heads.length === 0) continue;
    const hold = group.prefix.tokens + group.minNeed;
    holdbacks.set(index, hold);
    room -= hold;
  }
  if (room < 0 || holdbacks.size > slots) return null;

  const admit: Admission[] = [];
  const taken = new Set<Head>();
  const completed = new Map<string, Set<string>>();
  const candidates = pool.ranked.filter((head) => stays(head.group));
  // Room net of the holdbacks only shrinks, so a head that does not fit once never fits later and is passed for good.
  const fits = (head: Head): boolean => {
    const hold = holdbacks.get(head.group);
    if (hold === undefined) return head.need <= room && slots > holdbacks.size;
    return pool.groups[head.group]!.prefix!.tokens + head.need <= room + hold;
  };
  const take = (head: Head, gain: number): void => {
    const hold = holdbacks.get(head.group);
    if (hold !== undefined) {
      room += hold - pool.groups[head.group]!.prefix!.tokens;
      holdbacks.delete(head.group);
    }
    room -= head.need;
    slots -= 1;
    taken.add(head);
    admit.push({ request: head.request, needTokens: head.need, gainSeconds: gain });
    const { task, stage } = head.request.spec;
    const done = completed.get(task);
    if (done === undefined) completed.set(task, new Set([stage]));
    else done.add(stage);
  };

  let cursor = 0;
  while (admit.length < options.maxPerDecision && slots > 0) {
    while (cursor < candidates.length && (completed.has(candidates[cursor]!.request.spec.task) || !fits(candidates[cursor]!)))
      cursor++;
    let best = candidates[cursor] ?? null;
    let gain = best?.gain ?? 0;
    for (const [task, done] of completed) {
      for (const head of pool.byTask.get(task) ?? []) {
        if (!stays(head.group) || taken.has(head) || !fits(head)) continue;
        const after = pool.gains.gain(head.request, done);
        if (best === null || compareHeads(head, best, after, gain) < 0) {
          best = head;
          gain = after;
        }
      }
    }
    if (best === null || gain <= 0) break;
    take(best, gain);
  }
  if (options.workConserving && admit.length < options.maxPerDecision && slots > 0) {
    const rest = candidates.filter((head) => !taken.has(head) && fits(head)).toSorted((a, b) => compareHeads(a, b, 0, 0));
    for (const head of rest) {
      if (admit.length >= options.maxPerDecision || slots <= 0) break;
      if (fits(head)) take(head, pool.gains.gain(head.request, completed.get(head.request.spec.task)));
    }
  }
  return { admit, preempt };
}
