import type { Beside } from "../live/beside.ts";
import type { RufloWorkloadName } from "../ruflo/index.ts";
import type { LiveExperiment, LiveRow, WorkloadFactory } from "./live.ts";

const JOBS = 16;
const ARMS = ["passthrough", "fcfs", "lpm-task-o", "task-fcfs-o", "topas-guarded", "kv-index-safe"];
/** Enough of them that their p99 is no single call. */
const BESIDE: Beside = { chats: 24, backgrounds: 6, chat: [64, 48, 24], background: [64, 96, 160] };

const at = (workload: RufloWorkloadName, arrival: LiveRow["arrival"], load: number, rest: Partial<LiveRow> = {}): LiveRow => ({
  table: "ruflo",
  workload,
  arrival,
  load,
  jobs: JOBS,
  ...rest,
});

const ROWS: readonly LiveRow[] = [
  ...(["ruflo-r1-chain", "ruflo-r2-research", "ruflo-r3-loop", "ruflo-r4-mle-star"] as const).map((name) =>
    at(name, "poisson", 0.8),
  ),
  at("ruflo-r1-chain", "burst", 0.8, { beside: BESIDE, arms: ["passthrough", "fcfs", "task-fcfs-o", "topas-guarded"] }),
  at("ruflo-r1-chain", "poisson", 0.2, { jobs: 8, arms: ["passthrough", "fcfs", "topas-guarded"] }),
];

/** Genuine Ruflo workflows through the gateway. @throws RangeError when the packages are not there. */
export async function liveRuflo(): Promise<LiveExperiment> {
  const { RUFLO_WORKLOADS, rufloPackages, rufloWorkload } = await import("../ruflo/index.ts");
  const packages = rufloPackages();
  if (packages === null)
    throw new RangeError(
      "preset ruflo runs Ruflo's own engines, and their packages are not here: run npx topas ruflo setup first",
    );
  const made = RUFLO_WORKLOADS.map((name): [string, WorkloadFactory] => [
    name,
    (request) => rufloWorkload(name, { ...request, packages }),
  ]);
  return rufloExperiment(Object.fromEntries(made));
}

export function rufloExperiment(workloads: LiveExperiment["workloads"]): LiveExperiment {
  return {
    name: "ruflo",
    title: "Real Ruflo workflows through the gateway, on a real KV cache",
    minutes: 48,
    seeds: 5,
    model: "tiny5m",
    kvTokens: 1_536,
    // Nothing is brought back for free: what leaves the cache is computed again.
    hostTierMib: 0,
    workloads,
    rows: ROWS,
    arms: ARMS,
    capacityJobs: JOBS,
    limitSeconds: 180,
    questions: [
      {
        test: "ruflo",
        question: "Is the joint policy faster than the engine as shipped on real Ruflo workflows?",
        tables: ["ruflo"],
        policies: ["topas-guarded", "kv-index-safe"],
        baselines: ["passthrough", "fcfs"],
        metrics: ["jctMeanS", "jctP99S"],
        rule: { kind: "compare" },
      },
      {
        test: "ruflo simple",
        question: "Are simple orders that skip what does not fit within variance of it?",
        tables: ["ruflo"],
        policies: ["topas-guarded", "kv-index-safe"],
        baselines: ["lpm-task-o", "task-fcfs-o"],
        metrics: ["jctMeanS", "jctP99S"],
        rule: { kind: "compare" },
      },
    ],
    notes: [
      "the orchestrator is Ruflo's own engine, named per workload; the scheduler sees the client's max_tokens",
      `beside the burst: ${BESIDE.chats} single-shot chats and ${BESIDE.backgrounds} background calls, on top of the load`,
    ],
    quick: {
      seeds: 1,
      rows: [at("ruflo-r1-chain", "poisson", 0.8), at("ruflo-r2-research", "poisson", 0.8)],
      arms: ["passthrough", "kv-index-safe", "topas-guarded"],
    },
  };
}
