import type { Arm, ConditionName } from "../conditions.ts";
import { allArms } from "../grid/references.ts";
import type { Beside } from "../live/beside.ts";
import type { LiveWorkload } from "../live/types.ts";
import type { Question } from "./preset.ts";

export interface WorkloadRequest {
  readonly seed: number;
  readonly jobs: number;
  readonly arrival: "poisson" | "burst";
  /** Null: all at once. */
  readonly ratePerSecond: number | null;
}

/** A workload is a function of its request alone. */
export type WorkloadFactory = (request: WorkloadRequest) => Promise<LiveWorkload>;

/** One setting: every arm of it sees the same jobs. */
export interface LiveRow {
  readonly table: string;
  /** A key of `workloads`. */
  readonly workload: string;
  readonly arrival: "poisson" | "burst";
  /** Share of the workload's measured capacity. */
  readonly load: number;
  readonly jobs: number;
  /** Default: the experiment's. */
  readonly arms?: readonly string[];
  readonly kvTokens?: number;
  /** Protected traffic on the same engine; it comes on top of the load. */
  readonly beside?: Beside;
}

/** An experiment on a live engine, as data but for the workloads, which are played. */
export interface LiveExperiment {
  readonly name: string;
  readonly title: string;
  /** On two idle cores, with the seeds below. */
  readonly minutes: number;
  readonly seeds: number;
  /** A made model, unless the user names another. */
  readonly model: "nano1m" | "tiny5m" | "s60m" | "m135m";
  readonly kvTokens: number;
  /** Host memory for evicted KV, MiB; 0: none. */
  readonly hostTierMib: number;
  readonly workloads: Readonly<Record<string, WorkloadFactory>>;
  readonly rows: readonly LiveRow[];
  readonly arms: readonly string[];
  /** Jobs of the saturated run that measures a workload's capacity. */
  readonly capacityJobs: number;
  readonly limitSeconds: number;
  readonly questions: readonly Question[];
  /** For the report: scale of the prompts, what is left out and why. */
  readonly notes: readonly string[];
  /** What `--quick` changes. */
  readonly quick: Partial<Pick<LiveExperiment, "rows" | "arms" | "seeds" | "capacityJobs">>;
}

/** The engine as it is shipped: first come first served, head of line, the whole limit reserved (docs/decisions/0005). */
const PASSTHROUGH: Arm = {
  name: "passthrough",
  rules: "joint",
  policy: "passthrough",
  fit: "stop",
  reserve: "full",
  condition: "A" satisfies ConditionName,
};

/** Arms by name: those of the condition files, and the engine as shipped. */
export function liveArms(): Map<string, Arm> {
  return new Map([["passthrough", PASSTHROUGH], ...allArms()]);
}

/** Why the gateway cannot run an arm; null: it can. */
export function notLive({ rules, condition, redo }: Arm): string | null {
  if (rules !== "joint") return `it is the scheduler of another engine (${rules})`;
  if (condition === "reference") return "it knows or has what no gateway does";
  return redo === undefined ? null : `the engine swaps, this row asks for ${redo}`;
}
