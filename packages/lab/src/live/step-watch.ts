import type { Engine } from "@topas/engines";
import type { StepLog } from "@topas/sim";

export interface StepWatch {
  readonly steps: readonly StepLog[];
  stop(): void;
}

/** Every step the engine reports, on the clock of `now`; `budgetTokens` less what is free is held. */
export function watchSteps(engine: Engine, budgetTokens: number, now: () => number): StepWatch {
  const steps: StepLog[] = [];
  const stop = engine.subscribe((event) => {
    if (event.kind !== "step") return;
    const seconds = event.ms / 1_000;
    let [decodes, prefillTokens, chunks] = [0, 0, 0];
    for (const { prefilled, decoded } of event.deltas) {
      if (decoded > 0) decodes += 1;
      if (prefilled > 0) chunks += 1;
      prefillTokens += prefilled;
    }
    const heldTokens = Math.max(0, budgetTokens - event.freeTokens);
    steps.push({ atSeconds: now() - seconds, seconds, decodes, prefillTokens, chunks, heldTokens });
  });
  return { steps, stop };
}
