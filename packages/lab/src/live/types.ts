/** What a live run plays: jobs with arrivals, and whoever plays them against the gateway's URL. */

export type JobClass = "workflow" | "chat" | "background";

/** One unit of work as its user counts it. */
export interface LiveJob {
  readonly id: string;
  readonly class: JobClass;
  /** Seconds since the run began. */
  readonly arrivalSeconds: number;
  /** Model calls it makes when all goes well: what the gateway must have counted (orchestrators 7). */
  readonly calls: number;
}

export interface JobOutcome {
  readonly id: string;
  /** Seconds since the run began; null: it did not end well. */
  readonly doneSeconds: number | null;
  /** What the orchestrator itself said, e.g. `completed`. */
  readonly status: string;
  readonly error: string | null;
}

export interface PlayContext {
  /** Of the gateway, without `/v1`. */
  readonly url: string;
  readonly signal: AbortSignal;
  /** Seconds since the run began, on the clock of the arrivals. */
  readonly now: () => number;
}

/**
 * A workload for a live engine: a function of name, seed and rate alone, so that every condition meets the same one.
 * The first user message of every call contains the marker `[[job/stage]]` once.
 */
export interface LiveWorkload {
  readonly name: string;
  /** Label of docs/ruflo.md: `ruflo-v3-engine`, `ruflo-v2-engine, model call replaced`, `official client`. */
  readonly orchestrator: string;
  readonly jobs: readonly LiveJob[];
  /** Fingerprint of arrivals, prompts, limits, lengths and waits. */
  readonly inputs: string;
  /** For the report: scale of prompts, where lengths come from, what was enforced. */
  readonly notes: readonly string[];
  /** Output tokens of a visit (0, 1, …) of a stage: enforced in the engine, unknown to the scheduler. null: the model decides. */
  readonly outputTokens: (job: string, stage: string, visit: number) => number | null;
  /** Plays all jobs at their arrivals; resolves when each has ended or the signal fired. Rejects only when nothing could run. */
  readonly play: (context: PlayContext) => Promise<readonly JobOutcome[]>;
  /** Stops whatever `play` left running. */
  readonly close?: () => Promise<void>;
}
