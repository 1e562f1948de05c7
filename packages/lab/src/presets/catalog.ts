import { ABLATION } from "./ablation.ts";
import { ATTACKS } from "./attacks.ts";
import { FALSIFY } from "./falsify.ts";
import { FRONTIER } from "./frontier.ts";
import { FULL } from "./full.ts";
import { HYPOTHESES } from "./hypotheses.ts";
import { PAPER } from "./paper.ts";
import type { Experiment } from "./preset.ts";
import { QUICK } from "./quick.ts";

export const EXPERIMENTS: readonly Experiment[] = [QUICK, PAPER, FALSIFY, ABLATION, ATTACKS, HYPOTHESES, FRONTIER, FULL];

/** @throws RangeError that lists the names. */
export function findExperiment(name: string): Experiment {
  const found = EXPERIMENTS.find((each) => each.name === name);
  if (found === undefined)
    throw new RangeError(`unknown preset ${name}; known: ${EXPERIMENTS.map((each) => each.name).join(", ")}`);
  return found;
}
