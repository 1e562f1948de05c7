import type { Evict } from "../policy/policy.ts";
import { costTokens, type View } from "../view.ts";
import { rebuildSeconds, waitsOf, wantedSessions } from "./session.ts";

/** P(T <= tau) x benefit - E[min(T, tau)] x price, seconds, for every observed wait tau; `waits` ascending. */
export function ttlValues(
  waits: readonly number[],
  benefitSeconds: number,
  pricePerSecond: number,
): { seconds: number; value: number }[] {
  const out: { seconds: number; value: number }[] = [];
  let before = 0;
  waits.forEach((tau, i) => {
    before += tau;
    if (waits[i + 1] === tau) return;
    const held = before + (waits.length - 1 - i) * tau;
    out.push({ seconds: tau, value: ((i + 1) * benefitSeconds - held * pricePerSecond) / waits.length });
  });
  return out;
}

/**
 * tau* = argmax of `ttlValues`; 0 s when no wait is worth it (vector V22). benefit: seconds saved by a hit; price: what
 * holding costs per second.
 */
export function bestTtl(
  waits: readonly number[],
  benefitSeconds: number,
  pricePerSecond: number,
): { seconds: number; value: number } {
  return ttlValues(waits, benefitSeconds, pricePerSecond).reduce((a, b) => (b.value > a.value ? b : a), { seconds: 0, value: 0 });
}

/**
 * Sessions by what keeping them is worth (ours, in the spirit of Continuum): benefit = rebuild + mean requeue delay, price =
 * tokens/B x waiting tasks that do not fit. Soft: past tau* a session is worth nothing, within it it leaves under pressure,
 * worst value first.
 */
export const ttlCdf: Evict = {
  id: "ttl-cdf",
  values(view) {
    const wanted = wantedSessions(view);
    const delay = requeueSeconds(view);
    const squeezed = squeezedTasks(view);
    const budget = view.state.ledger.budgetTokens;
    return (entry) => {
      if (entry.kind === "prefix") return 0;
      const benefit = rebuildSeconds(view, entry) + delay;
      if (wanted.has(entry)) return benefit;
      const price = budget === null || !(budget > 0) ? 0 : (entry.tokens / budget) * squeezed;
      const { seconds, value } = bestTtl(waitsOf(view, entry), benefit, price);
      return view.nowSeconds - entry.lastUseSeconds <= seconds ? value : 0;
    };
  },
};

/** Mean time that what waits now has waited, seconds. */
function requeueSeconds(view: View): number {
  if (view.waiting.length === 0) return 0;
  return view.waiting.reduce((sum, request) => sum + view.nowSeconds - request.readySeconds, 0) / view.waiting.length;
}

function squeezedTasks(view: View): number {
  const tasks = new Set<string>();
  for (const request of view.waiting) if (costTokens(view, request) > view.roomTokens) tasks.add(request.spec.task);
  return tasks.size;
}
