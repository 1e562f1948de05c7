import { keepBelow } from "../../evict/keep-below.ts";
import { sagaTtl } from "../../evict/saga.ts";
import { steps } from "../../evict/steps.ts";
import { ttlCdf } from "../../evict/ttl-cdf.ts";
import { ttlFixed } from "../../evict/ttl-fixed.ts";
import { workload } from "../../evict/workload.ts";
import { astraea } from "../../order/astraea.ts";
import { fcfs } from "../../order/fcfs.ts";
import { heldFirst } from "../../order/held-first.ts";
import { saga } from "../../order/saga.ts";
import type { Recipes } from "../recipe.ts";
import { keyed } from "./keyed.ts";

/** Policies whose idea is what stays in memory. */
export const RESIDENCY: Recipes = {
  kvflow: keyed(
    "Evicts the prefix with most steps to its next use; prefetches what is next.",
    "KVFlow, arXiv 2507.07400",
    fcfs,
    [],
    {
      evict: steps,
    },
  ),
  "workload-evict": keyed("Evicts by rebuild cost x dependants x use rate.", "Workload-Aware Caching, 2026-06", fcfs, [], {
    evict: workload,
  }),
  "ttl-fixed": keyed(
    "Keeps session KV for 2 s where the tool is fast; held programs first.",
    "Continuum, arXiv 2511.02230",
    heldFirst,
    ["ttlSeconds"],
    {
      evict: ttlFixed,
    },
  ),
  "ttl-cdf": keyed("Keeps session KV as long as the waits seen make it worth it.", "in the spirit of Continuum", heldFirst, [], {
    evict: ttlCdf,
  }),
  "saga-like": keyed(
    "Started tasks first; sessions kept for the 95th percentile of their tool.",
    "SAGA, arXiv 2605.00528",
    saga,
    [],
    {
      evict: sagaTtl,
    },
  ),
  "astraea-hrrn": keyed("Response ratio of the program, raised by its tool share.", "Astraea, arXiv 2512.14142", astraea, [], {
    evict: keepBelow,
  }),
};
