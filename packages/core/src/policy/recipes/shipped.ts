import { fcfs, fcfsTail } from "../../order/fcfs.ts";
import { hrrn, hrrnSeconds, hrrnTask } from "../../order/hrrn.ts";
import { lpm, lpmTask } from "../../order/lpm.ts";
import { lpmAge, lpmAgeSeconds, lpmTaskAge } from "../../order/lpm-age.ts";
import type { Recipes } from "../recipe.ts";
import { keyed } from "./keyed.ts";

/** What engines ship, and one-line changes of it. */
export const SHIPPED: Recipes = {
  passthrough: keyed(
    "No decision: everything goes to the engine at once, in order.",
    "the engine's own scheduler",
    fcfs,
    ["governs"],
    { options: { governs: false }, suffixes: false },
  ),
  fcfs: keyed(
    "First come, first served; the head of the line waits until it fits.",
    "SGLang, vLLM",
    (options) => (options.requeue === "tail" ? fcfsTail : fcfs),
    ["requeue"],
  ),
  lpm: keyed("Longest prefix match first, ties in queue order.", "SGLang", lpm, ["fallbackAbove", "inBatchRule"]),
  "lpm-task": keyed("Longest prefix match first, ties by task arrival.", "lpm with task ties", lpmTask, [
    "fallbackAbove",
    "inBatchRule",
  ]),
  "lpm-age": keyed(
    "Longest prefix match plus 256 tokens for every pass in the queue.",
    "sgl-project/sglang#31954, #31723, #33210",
    lpmAge,
    ["tokensPerPass", "fallbackAbove"],
  ),
  "lpm-task-age": keyed("lpm-age counting the passes since the task arrived.", "lpm-age with task age", lpmTaskAge, [
    "tokensPerPass",
    "fallbackAbove",
  ]),
  "lpm-age-s": keyed("Longest prefix match plus 10 tokens for every second of task age.", "lpm-age in seconds", lpmAgeSeconds, [
    "tokensPerSecond",
    "fallbackAbove",
  ]),
  hrrn: keyed("Highest response ratio next, in prompt tokens processed over uncached tokens.", "sgl-project/sglang#32911", hrrn, [
    "fallbackAbove",
  ]),
  "hrrn-s": keyed("Highest response ratio next, in seconds: wait over call service.", "Brinch Hansen's HRRN", hrrnSeconds),
  "hrrn-task": keyed("Highest response ratio next over tasks: age over remaining path.", "HRRN on tasks", hrrnTask),
};
