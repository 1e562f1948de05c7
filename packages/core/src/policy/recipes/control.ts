import { reuseValue } from "../../evict/reuse-value.ts";
import { quotaEvict } from "../../evict/quota.ts";
import { downstreamGate } from "../../order/downstream.ts";
import { quotaOrder } from "../../order/quota.ts";
import { resumeGroups } from "../../order/resume-groups.ts";
import { topas } from "../../order/topas.ts";
import { inQuota } from "../../preempt/in-quota.ts";
import { pauseAtTool } from "../../preempt/pause.ts";
import { setLeave } from "../../preempt/voluntary.ts";
import { mean } from "../../reserve/mean.ts";
import { program } from "../../reserve/program.ts";
import type { Recipes } from "../recipe.ts";
import { routerArm } from "../router.ts";
import { keyed } from "./keyed.ts";

/** Policies that limit or route instead of ranking. */
export const CONTROL: Recipes = {
  "static-partition": keyed(
    "Fixed quotas per agent, valuable prefixes pinned.",
    "offline partition (H5)",
    quotaOrder,
    ["pinnedShare", "smallestQuotaTokens"],
    {
      evict: quotaEvict,
      preempt: inQuota,
      options: { fit: "over", allFits: false },
    },
  ),
  router: {
    description: "fcfs-o without contention, srpt-w-age-o without reuse, else the joint search.",
    source: "H4, ours",
    order: topas,
    reserve: mean,
    evict: reuseValue,
    preempt: setLeave,
    options: {},
    knobs: ["routerWindow", "routerContention", "routerReuse", "routerPrefixShare", "routerArm"],
    delegate: routerArm,
  },
  "pause-resume": keyed(
    "Programs paused at tool boundaries, resumed by ascending tokens.",
    "ThunderAgent, arXiv 2602.13692",
    resumeGroups,
    ["forcedResumeSeconds"],
    {
      reserve: program,
      preempt: pauseAtTool,
      options: { fit: "over", allFits: false },
    },
  ),
  "downstream-gate": keyed(
    "Serves only the most downstream agent with enough ready requests.",
    "TOPAS, Fig. 1, a strawman",
    downstreamGate,
    ["gateRequests"],
    {
      options: { allFits: false },
    },
  ),
};
