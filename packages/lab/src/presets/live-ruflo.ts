import type { Beside } from "../live/beside.ts";
import type { LiveWorkload } from "../live/types.ts";
import type { LiveExperiment, LiveRow, WorkloadFactory, WorkloadRequest } from "./live.ts";

/** What `../ruflo/index.ts` gives: the drivers of Ruflo's own engines. */
interface Driver {
  /** The folder with the packages; null: they were not fetched. */
  readonly rufloPackages: () => string | null;
  readonly rufloWorkload: (name: Name, request: WorkloadRequest & { readonly packages: string }) => Promise<LiveWorkload>;
}

const NAMES = ["ruflo-r1-chain", "ruflo-r2-research", "ruflo-r3-loop", "ruflo-r4-mle-star"] as const;
type Name = (typeof NAMES)[number];

const JOBS = 14;
const ARMS = ["passthrough", "fcfs", "lpm-task-o", "task-fcfs-o", "topas-guarded", "kv-index-safe"];
/** Enough of them that their p99 is no single call. */
const BESIDE: Beside = { chats: 16, backgrounds: 3, chat: [64, 48, 24], background: [64, 96, 160] };

const at = (workload: Name, arrival: LiveRow["arrival"], load: number, rest: Partial<LiveRow> = {}): LiveRow => ({
  table: "ruflo",
  workload,
  arrival,
  load,
  jobs: JOBS,
  ...rest,
});

const ROWS: readonly LiveRow[] = [
  ...NAMES.map((name) => at(name, "poisson", 0.8)),
  at("ruflo-r1-chain", "burst", 0.8, { beside: BESIDE }),
  at("ruflo-r1-chain", "poisson", 0.2, { jobs: 6, arms: ["passthrough", "fcfs", "topas-guarded", "kv-index-safe"] }),
];

/** Genuine Ruflo workflows through the gateway. @throws RangeError when the packages are not there. */
export async function liveRuflo(): Promise<LiveExperiment> {
  const driver = await loadDriver();
  const packages = driver?.rufloPackages() ?? null;
  if (driver === null || packages === null)
    throw new RangeError(
      "preset ruflo runs Ruflo's own engines, and their packages are not here: run npx topas ruflo setup first",
    );
  const factoryOf =
    (name: Name): WorkloadFactory =>
    (request) =>
      driver.rufloWorkload(name, { ...request, packages });
  return rufloExperiment(Object.fromEntries(NAMES.map((name) => [name, factoryOf(name)])));
}

export function rufloExperiment(workloads: LiveExperiment["workloads"]): LiveExperiment {
  return {
    name: "ruflo",
    title: "Real Ruflo workflows through the gateway, on a real KV cache",
    minutes: 45,
    seeds: 5,
    model: "s60m",
    kvTokens: 1_536,
    hostTierMib: 512,
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
      "the orchestrator is Ruflo's own engine, named per workload; output lengths are drawn and enforced in the engine, the scheduler sees the client's max_tokens",
      `beside the burst: ${BESIDE.chats} single-shot chats and ${BESIDE.backgrounds} background calls, on top of the load`,
    ],
    quick: {
      seeds: 1,
      rows: [at("ruflo-r1-chain", "poisson", 0.8), at("ruflo-r2-research", "poisson", 0.8)],
      arms: ["passthrough", "kv-index-safe", "topas-guarded"],
    },
  };
}

/** Null: this build has no driver. */
async function loadDriver(): Promise<Driver | null> {
  const path = "../ruflo/index.ts";
  try {
    return (await import(path)) as Driver;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return null;
    throw error;
  }
}
