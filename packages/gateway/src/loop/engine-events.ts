import type { EngineEvent } from "@topas/engines";
import { overRetracted } from "@topas/core";
import { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";

/** Everything the engine reports on its own, put into the scheduler's books. */
export function onEngineEvent(loop: Loop, event: EngineEvent): void {
  const at = loop.now();
  const c = loop.counters_;
  switch (event.kind) {
    case "step": {
      c.steps_total++;
      c.step_seconds_total += event.ms / 1000;
      for (const d of event.deltas) {
        c.step_rows_total += d.prefilled + d.decoded;
        if (d.decoded > 0) c.step_requests_total++;
      }
      const budget = loop.description.kvBudgetTokens;
      if (budget !== null) c.kv_occupied_token_seconds_total += ((budget - event.freeTokens) * event.ms) / 1000;
      loop.lastMovedSeconds = at;
      loop.apply({ kind: "progress", at, deltas: event.deltas });
      return;
    }
    case "loaded":
      c.prefix_loads_total++;
      c.prefix_computed_tokens_total += event.computedTokens;
      c.moved_bytes_total += event.bytes;
      loop.apply({ kind: "loaded", at, entry: event.entry, computedTokens: event.computedTokens });
      break;
    case "evicted":
      c.evictions_total++;
      c.moved_bytes_total += event.bytes;
      loop.apply({ kind: "evicted", at, entry: event.entry, keptOnHost: event.keptOnHost });
      break;
    case "taken":
      // Usually accounted for when the call was admitted; a session kept in between by a sibling call is news.
      loop.apply({ kind: "evicted", at, entry: event.entry, keptOnHost: false });
      return;
    case "hostDropped":
      loop.apply({ kind: "hostDropped", at, entry: event.entry });
      return;
    case "preempted": {
      c.moved_bytes_total += event.bytes;
      if (event.by === "engine") {
        c.forced_preemptions_total++;
        const record = loop.running.get(event.request);
        if (record !== undefined) {
          loop.running.delete(event.request);
          loop.waiting.set(event.request, record);
          record.status = "waiting";
          record.preemptions++;
        }
      }
      loop.apply({ kind: "preempted", at, request: event.request, by: event.by, keptTokens: event.keptTokens });
      if (event.by === "engine") endIfRetractedTooOften(loop, event.request);
      break;
    }
    case "lost":
      c.engine_lost_total++;
      loop.engineUp = false;
      loop.apply({ kind: "engineLost", at });
      loop.options.log?.("error", "engine lost", { reason: event.message });
      return;
    case "ready":
      if (!loop.engineUp) loop.options.log?.("warn", "engine is back", { model: event.description.model });
      loop.engineUp = true;
      loop.description = event.description;
      if (event.description.kvBudgetTokens !== null)
        loop.apply({ kind: "budgetChanged", at, budgetTokens: event.description.kvBudgetTokens });
      loop.lastMovedSeconds = at;
      break;
  }
  loop.requestDecision();
}

/** K14: a call that the engine throws out again and again ends with a reason instead of looping. */
function endIfRetractedTooOften(loop: Loop, id: string): void {
  const record = loop.records.get(id);
  if (record === undefined || !overRetracted(loop.state, id, loop.settings.maxRetractions)) return;
  record.failure = new GatewayError("retraction_limit");
  loop.engine_.cancel(id);
}
