import type { Manifest } from "../results/schema.ts";
import { STABILITY_RULE } from "../run/stability.ts";
import { CAPACITY_ARM } from "./live-cell.ts";
import type { LiveExperimentOptions } from "./live-experiment.ts";
import { LIVE_STARVE_SECONDS } from "./live-metrics.ts";
import type { LiveRun } from "./run-live.ts";

/** Rules every figure of a live run follows, in words. */
const LIVE_RULES = {
  warmup:
    "none is left out: each cell begins with an empty cache, and the capacity runs come first, so that the code is compiled",
  drain: "a cell goes on until every job is over or its time limit is; what is not over then has failed",
  stability: STABILITY_RULE,
  starvation: `a call that waits more than ${LIVE_STARVE_SECONDS} s for its admission is starved`,
  contended:
    "contendedShare: share of the instants at which a call reached the gateway or finished and after which a waiting call still waited longer than 0.05 s",
  load: `share of the workload's capacity: the throughput of ${CAPACITY_ARM} when all jobs arrive at once, measured once; traffic beside it comes on top`,
  time: "a job's time is from its arrival to when its orchestrator says it is over",
  success:
    "a job is done when its orchestrator says so and the gateway counted exactly the calls it had to make, all of them done; times are of jobs that are done",
  order: "seeds outermost, then settings, then policies, each seed beginning with the next policy",
} as const;

/** Members of the manifest that only a live run has. */
export interface LiveFacts {
  readonly engine: {
    readonly name: "llama";
    readonly model: string;
    readonly threads: number;
    readonly hostTierMib: number;
    readonly notes: readonly string[];
  };
  readonly workloads: readonly {
    readonly workload: string;
    readonly orchestrator: string;
    readonly notes: readonly string[];
    /** Distinct shareable prefixes, as the engine counted them. */
    readonly prefixTokens: number;
    readonly kvTokens: number;
    /** KV pressure: below 1, not all prefixes fit even without a call. */
    readonly budgetOverPrefixes: number | null;
  }[];
  readonly notes: readonly string[];
}

const ENFORCED = "output lengths are drawn and enforced in the engine: every policy meets the same ones and knows none of them";
const MODEL_DECIDES = "the model ends its answers itself: policies may meet other lengths, and so may the next run";

/** What the manifest of a live run says beyond that of a simulated one. */
export function liveManifest(
  { experiment, model, threads, calibrate, modelDecides = false }: LiveExperimentOptions,
  { outcomes }: LiveRun,
): Pick<Manifest, "profile" | "profileStatus" | "preset" | "title" | "rules"> & LiveFacts {
  const results = outcomes.flatMap(({ cell, result }) => (result === null ? [] : [{ cell, result }]));
  const workloads = [...new Set(results.map(({ cell }) => cell.workload))].map((workload) => {
    const mine = results.filter(({ cell }) => cell.workload === workload);
    const prefixTokens = Math.max(...mine.map(({ result }) => result.prefixTokens));
    const { kvTokens } = mine[0]!.cell;
    const budgetOverPrefixes = prefixTokens === 0 ? null : kvTokens / prefixTokens;
    return { workload, ...mine[0]!.result.workload, prefixTokens, kvTokens, budgetOverPrefixes };
  });
  return {
    profile: model,
    profileStatus: "live engine",
    preset: experiment.name,
    title: experiment.title,
    rules: LIVE_RULES,
    engine: { name: "llama", model, threads, hostTierMib: experiment.hostTierMib, notes: results[0]?.result.notes ?? [] },
    workloads,
    notes: [
      ...experiment.notes,
      modelDecides ? MODEL_DECIDES : ENFORCED,
      ...(typeof calibrate === "function" ? [] : [`no prediction by the simulator: ${calibrate.none}`]),
    ],
  };
}
