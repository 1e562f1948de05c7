import { ABLATION } from "./ablation.ts";
import { ATTACKS } from "./attacks.ts";
import { FALSIFY } from "./falsify.ts";
import { FRONTIER } from "./frontier.ts";
import { FULL } from "./full.ts";
import { HYPOTHESES } from "./hypotheses.ts";
import { matchedExperiment } from "./matched.ts";
import { PAPER } from "./paper.ts";
import type { Experiment } from "./preset.ts";
import { QUICK } from "./quick.ts";

/** All of them; `matched` is read from the condition files. */
export function experiments(): readonly Experiment[] {
  return [QUICK, PAPER, FALSIFY, ABLATION, ATTACKS, HYPOTHESES, FRONTIER, FULL, matchedExperiment()];
}

/** @throws RangeError that lists the names. */
export function findExperiment(name: string): Experiment {
  const all = experiments();
  const found = all.find((each) => each.name === name);
  if (found === undefined) throw new RangeError(`unknown preset ${name}; known: ${all.map((each) => each.name).join(", ")}`);
  return found;
}
