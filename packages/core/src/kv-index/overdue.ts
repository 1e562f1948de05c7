import { fits, take, type Picking } from "./choose.ts";
import type { Item } from "./item.ts";

/** Requests that have waited longer than the operator allows head the order, longest wait first (algorithm 5.3). */
export function pickOverdue(picking: Picking): void {
  const { index, nowSeconds } = picking;
  const limit = index.settings.maxWaitSeconds;
  if (limit === null) return;
  const overdue: Item[] = [];
  for (const item of index.queue) {
    const { request } = item;
    const late = nowSeconds - request.readySeconds > limit;
    if (!late && request.preemptions + request.refusals === 0) break;
    if (late) overdue.push(item);
  }
  overdue.sort((a, b) => a.request.readySeconds - b.request.readySeconds || a.request.readySeq - b.request.readySeq);
  for (const item of overdue) {
    if (picking.slots <= 0) return;
    if (!item.group.scratch.evicting && fits(picking, item)) take(picking, item);
  }
}
