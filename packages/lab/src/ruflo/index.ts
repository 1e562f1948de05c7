import { createHash } from "node:crypto";
import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { ARRIVALS, arrivalSeconds, createRng } from "@topas/sim";
import type { JobOutcome, LiveWorkload, PlayContext } from "../live/types.ts";
import { callsOf, type RufloJob } from "./jobs.ts";
import { LENGTH_CV, LIMIT_FACTOR, LOOP, WAIT } from "./lengths.ts";
import { packagesNote } from "./packages.ts";
import { openPool, type RufloPool } from "./pool.ts";
import { jobsOf, PROMPT_FACTOR, RUFLO_WORKLOADS, SHAPES, systemsOf, type RufloWorkloadName, type Shape } from "./workloads.ts";

export { rufloPackages } from "./packages.ts";
export { preloadOptions } from "./preload-options.ts";
export { RUFLO_WORKLOADS, type RufloWorkloadName } from "./workloads.ts";

export interface RufloWorkloadOptions {
  readonly seed: number;
  readonly jobs: number;
  readonly arrival: "poisson" | "burst";
  /** null: all at once. */
  readonly ratePerSecond: number | null;
  /** Of {@link rufloPackages}. */
  readonly packages: string;
  /** Default true. */
  readonly receipts?: boolean;
}

const GROUP = { burst: ARRIVALS["batch-8"], poisson: ARRIVALS.poisson, together: ARRIVALS.together } as const;

/**
 * Published Ruflo engines running real workflows, one thread each. The threads are ready when this resolves: `close` ends them.
 * @throws RangeError for an unknown name
 */
export async function rufloWorkload(name: RufloWorkloadName, options: RufloWorkloadOptions): Promise<LiveWorkload> {
  const { seed, packages, ratePerSecond, receipts = true } = options;
  const shape = SHAPES[name] as Shape | undefined;
  if (shape === undefined) throw new RangeError(`unknown Ruflo workload ${name}; known: ${RUFLO_WORKLOADS.join(", ")}`);
  const rng = createRng(seed).split(name);
  const jobs = jobsOf(shape, packages, seed, options.jobs, rng);
  const pattern = GROUP[ratePerSecond === null ? "together" : options.arrival];
  const arrivals = arrivalSeconds(pattern, jobs.length, ratePerSecond ?? 1, rng.split("arrivals"));
  const systems = systemsOf(shape, packages);
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const pool = await openPool({ kind: shape.kind, packages, size: jobs.length, receipts });
  return {
    name,
    orchestrator: shape.label,
    jobs: jobs.map((job, index) => ({
      id: job.id,
      class: "workflow",
      arrivalSeconds: arrivals[index]!,
      calls: callsOf(job),
    })),
    inputs: createHash("sha256")
      .update(JSON.stringify([name, arrivals, systems, jobs]))
      .digest("hex"),
    notes: notesOf(shape, packages),
    outputTokens: (job, stage, visit) => byId.get(job)?.answers[stage]?.[visit]?.tokens ?? null,
    play: (context) => {
      setMaxListeners(0, context.signal);
      return Promise.all(jobs.map((job, index) => playJob(pool, job, arrivals[index]!, context)));
    },
    close: pool.close,
  };
}

async function playJob(pool: RufloPool, job: RufloJob, arrival: number, { url, signal, now }: PlayContext): Promise<JobOutcome> {
  const { id } = job;
  try {
    if (arrival > now()) await sleep((arrival - now()) * 1_000, undefined, { signal });
    const { status, error } = await pool.run(job, url, signal);
    return { id, doneSeconds: status === "completed" ? now() : null, status, error };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { id, doneSeconds: null, status: signal.aborted ? "aborted" : "failed", error: message };
  }
}

function notesOf({ source, stages, label }: Shape, packages: string): readonly string[] {
  const means = stages.map(({ stage, meanTokens }) => `${stage} ${meanTokens}`).join(", ");
  return [
    `${source} (${label}); ${packagesNote(packages)}`,
    `shipped agent prompts as system prompts, the first 1/${Math.round(1 / PROMPT_FACTOR)} of their characters`,
    `output tokens lognormal, cv ${LENGTH_CV}, means: ${means}; max_tokens ${LIMIT_FACTOR} times the mean; enforced in the engine, unknown to the scheduler`,
    `tool waits (v3) lognormal, median ${WAIT.medianSeconds} s, sigma ${WAIT.sigma}, at most ${WAIT.mostSeconds} s`,
    `rounds (r3) geometric, mean ${LOOP.mean.toFixed(2)}, at most ${LOOP.max}; the supervisor's verdict is the driver's`,
    "the text of answers is replaced by seeded words of the drawn length, so that prompts which quote them are the same under every policy",
  ];
}
