import { toBlocks } from "../config.ts";
import { promptHeldTokens, type RequestState } from "../state.ts";
import { createView } from "../view.ts";
import type { Item } from "./item.ts";
import type { KvIndex } from "./store.ts";

/**
 * Refreshes x and d of every running item and keeps the list sorted by x, longest first: O(running) as all shrink alike.
 * Returns the cells that their prompts still have to fill.
 */
export function readRunning(index: KvIndex): number {
  const { running } = index;
  let outstanding = 0;
  for (let i = 0; i < running.length; i++) {
    const item = running[i]!;
    measureProgress(item);
    outstanding += missingCells(index, item.request);
    let j = i - 1;
    while (j >= 0 && running[j]!.leftTokens < item.leftTokens) {
      running[j + 1] = running[j]!;
      j -= 1;
    }
    running[j + 1] = item;
  }
  return outstanding;
}

/** Tokens promised to running and admitted items together, by the policy's reserve (algorithm 5.5 for `peak`). */
export function promisedTo(index: KvIndex, staying: readonly Item[], nowSeconds: number, leaving?: ReadonlySet<Item>): number {
  const { state, reserve } = index;
  if (reserve.id === "peak") return toBlocks(state.config, peakOf(staying, leaving));
  const there = staying.filter((item) => leaving?.has(item) !== true);
  const running = there.filter(({ waits }) => !waits).map(({ request }) => request);
  const promised = reserve.promised(createView(state, nowSeconds, reserve), running);
  return there.reduce((sum, item) => sum + (item.waits ? item.needTokens : 0), promised);
}

/** x_r and d_r now. */
export function measureProgress(item: Item): void {
  const { request } = item;
  const generated = request.redoneTokens + request.decodedTokens;
  item.heldTokens = request.spec.ownPromptTokens + generated;
  item.leftTokens = leftTokens(item, generated);
}

/** Running and just admitted together, longest remaining first. */
export function withAdmitted(running: readonly Item[], admit: readonly Item[]): readonly Item[] {
  if (admit.length === 0) return running;
  const all = running.slice();
  for (const item of admit) {
    measureProgress(item);
    let at = all.length;
    all.push(item);
    for (; at > 0 && all[at - 1]!.leftTokens < item.leftTokens; at--) all[at] = all[at - 1]!;
    all[at] = item;
  }
  return all;
}

export function missingCells({ state }: KvIndex, request: RequestState): number {
  if (request.cells > 0 && request.decodedTokens > 1) return 0;
  return Math.max(0, toBlocks(state.config, promptHeldTokens(request)) - request.cells);
}

/** x_r from the output believed at the start: passing it stretches the belief (algorithm 2.7). */
function leftTokens(item: Item, generated: number): number {
  const { limitTokens } = item;
  const expected =
    generated > item.outputTokens ? Math.min(limitTokens, Math.max(item.outputTokens, 1.3 * generated + 32)) : item.outputTokens;
  return Math.min(Math.max(0, limitTokens - generated), Math.max(expected - generated, 0.3 * generated, 32));
}

/** Peak of the profile without those in `leaving`, tokens; `running` longest first. */
export function peakOf(running: readonly Item[], leaving?: ReadonlySet<Item>): number {
  let held = 0;
  let many = 0;
  let highest = 0;
  for (const item of running) {
    if (leaving !== undefined && leaving.has(item)) continue;
    many += 1;
    held += item.heldTokens;
    const here = many * item.leftTokens + held;
    if (here > highest) highest = here;
  }
  return Math.max(highest, held);
}
