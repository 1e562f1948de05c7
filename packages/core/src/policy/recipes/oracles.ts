import { belady } from "../../evict/belady.ts";
import { fcfs } from "../../order/fcfs.ts";
import { lpmTask } from "../../order/lpm.ts";
import { trueReserve, trueSrpt } from "../../order/truth.ts";
import { peak } from "../../reserve/peak.ts";
import type { Recipes } from "../recipe.ts";
import { keyed } from "./keyed.ts";

const ORACLE = { experimentsOnly: true } as const;

/** References that know what no server can know. */
export const ORACLES: Recipes = {
  "oracle-srpt": keyed("Least true remaining KV area first.", "reference", trueSrpt, ["truth"], ORACLE),
  "oracle-belady": keyed("Evicts what is truly used last.", "Belady's rule", fcfs, ["truth"], { ...ORACLE, evict: belady }),
  "oracle-reserve": keyed(
    "lpm-task that promises the peak of the true lengths.",
    "reference",
    lpmTask,
    ["truth", "fallbackAbove", "inBatchRule"],
    {
      ...ORACLE,
      reserve: (options) => trueReserve(peak, options),
    },
  ),
};
