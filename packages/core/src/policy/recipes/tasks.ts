import { atlas } from "../../order/atlas.ts";
import { lasDecay } from "../../order/las-decay.ts";
import { plas } from "../../order/plas.ts";
import { random } from "../../order/random.ts";
import { cpFirst, spf, srptW, srptWAge } from "../../order/remaining.ts";
import { completedSeconds } from "../../order/service.ts";
import { criticalSeconds } from "../../order/atlas.ts";
import { taskFcfs } from "../../order/task-fcfs.ts";
import { quantumSwap } from "../../preempt/quantum.ts";
import type { Recipes } from "../recipe.ts";
import { keyed } from "./keyed.ts";

/** Orders over tasks: arrival, remaining work, attained service. */
export const TASKS: Recipes = {
  "task-fcfs": keyed("Oldest task first.", "Parrot, as a FCFS baseline", taskFcfs),
  spf: keyed("Shortest remaining path first.", "SRPT on chains", spf),
  "srpt-w": keyed("Least remaining KV area first.", "SRPT in token-seconds", srptW),
  "srpt-w-age": keyed("Least remaining KV area first, discounted by task age.", "SRPT with aging", srptWAge),
  "cp-first": keyed("Longest remaining path first, a control known to be bad.", "critical path first", cpFirst),
  plas: keyed("Least attained service of the program, in classes.", "Autellix, arXiv 2502.13965", plas, ["starvedRatio"], {
    preempt: (options) => quantumSwap(options, completedSeconds),
  }),
  atlas: keyed(
    "Least attained service along the critical path, in classes.",
    "Autellix, arXiv 2502.13965",
    atlas,
    ["starvedRatio"],
    {
      preempt: (options) => quantumSwap(options, criticalSeconds),
    },
  ),
  "las-decay": keyed("Least decayed service of the program, with a share for the wait of its head.", "llm-d-router", lasDecay),
  "random-o": keyed("By a hash of the id: a sanity floor.", "none", random, [], { options: { fit: "over" }, suffixes: false }),
};
