import type { EntryId } from "../events.ts";
import { frameKey } from "../frame-key.ts";
import { decayed, historyOf, USES_HALF_LIFE } from "../history.ts";
import type { Evict } from "../policy/policy.ts";
import type { EntryState } from "../state.ts";
import type { View } from "../view.ts";
import { rebuildSeconds, sessionStage } from "./session.ts";

/**
 * Workload-aware caching: value = p*l_a x (1 + unfinished stages that depend on a) x uses per second (half-life 300 s). A
 * session is worth its own rebuild, with its stage as the one dependant while it lives.
 */
export const workload: Evict = {
  id: "workload",
  values(view) {
    const dependants = unfinishedStages(view);
    return (entry) => {
      const stages = entry.kind === "prefix" ? (dependants.get(entry.id) ?? 0) : sessionStage(view.state, entry) === null ? 0 : 1;
      return rebuildSeconds(view, entry) * (1 + stages) * usesPerSecond(view, entry);
    };
  },
};

function unfinishedStages(view: View): ReadonlyMap<EntryId, number> {
  const out = new Map<EntryId, number>();
  for (const task of view.state.tasks.values()) {
    if (task.done || task.failure !== null) continue;
    for (const stage of task.stages.values()) {
      if (stage.status === "done" || stage.status === "skipped" || stage.status === "failed") continue;
      const entry = view.state.agentPrefix.get(frameKey(task.tenant, stage.agent));
      if (entry !== undefined) out.set(entry, (out.get(entry) ?? 0) + 1);
    }
  }
  return out;
}

/** Without a history: its last use alone. */
function usesPerSecond(view: View, entry: EntryState): number {
  const history = historyOf(view.state);
  const use = history?.uses.get(entry.id) ?? { value: 1, atSeconds: entry.lastUseSeconds };
  return (decayed(use, view.nowSeconds, USES_HALF_LIFE) * Math.LN2) / USES_HALF_LIFE;
}
