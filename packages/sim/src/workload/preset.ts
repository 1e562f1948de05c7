import type { Rng } from "../rng.ts";
import type { SimAgent } from "../task.ts";
import type { Arrival } from "./arrivals.ts";
import type { Distribution } from "./distribution.ts";

/**
 * What a prompt repeats of earlier stages beside its own tokens. none: nothing. predecessors: their last outputs. own: all this
 * agent saw in the task, and what its predecessors said since. history: every output of the task so far.
 */
export type Carry = "none" | "predecessors" | "own" | "history";

/** A stage before lengths are drawn. Stages stand in an order in which they can run. */
export interface StagePlan {
  readonly id: string;
  readonly agent: string;
  readonly after: readonly string[];
  /** Tokens of the first call's own prompt, without what it carries. */
  readonly prompt: Distribution;
  /** Tokens of every call. */
  readonly output: Distribution;
  readonly carry?: Carry;
  readonly rounds?: RoundPlan;
}

/** A ReAct stage: calls with tool waits between them. */
export interface RoundPlan {
  readonly count: Distribution;
  readonly max: number;
  readonly waitSeconds: Distribution;
  /** Tokens a tool result adds. */
  readonly observation: Distribution;
  /** The stage ends once its own context passes this. */
  readonly contextLimitTokens?: number;
}

export interface TaskPlan {
  readonly stages: readonly StagePlan[];
  /** Default: the preset's name. */
  readonly workflow?: string;
  /** Agents that live for one task (a document prefix shared by its stages); `@` at the end of the name becomes the task. */
  readonly agents?: readonly SimAgent[];
  /** Default: the preset's. */
  readonly revealsGraph?: boolean;
}

/** exact: the realised output. tight: 1.2 times it. typical 1,024, loose 4,096, unset: what the context leaves. */
export type MaxTokens = "exact" | "tight" | "typical" | "loose" | "unset" | number;

export type PresetFamily =
  | "pipeline"
  | "forkJoin"
  | "supervisor"
  | "groupChat"
  | "coding"
  | "ruflo"
  | "acceptance"
  | "control"
  | "mixed";

export interface ShapeInput {
  readonly rng: Rng;
  readonly index: number;
  readonly count: number;
}

/** A workload as data; only shapes that differ from task to task are functions. */
export interface Preset {
  readonly name: string;
  readonly family: PresetFamily;
  readonly description: string;
  /** Where shape and numbers come from; "ours" where nobody published them. */
  readonly source: string;
  readonly agents: readonly SimAgent[];
  /** KV budget its lengths were chosen for. */
  readonly budgetTokens: number;
  readonly shape: readonly StagePlan[] | ((input: ShapeInput) => TaskPlan);
  /** Whether an orchestrator could declare the graph at arrival. A hub that decides step by step cannot. */
  readonly revealsGraph: boolean;
  readonly maxTokens: MaxTokens;
  /** Sigma of the hidden difficulty that multiplies all outputs of a task. */
  readonly difficultySigma?: number;
  readonly arrival?: Arrival;
  /** The paper's where it gives one; else about 0.7 of what stock SGLang rules sustain on the 32B A100 profile (all at once, better of fcfs and lpm). */
  readonly ratePerSecond?: number;
  /** Saturated tasks a second where an earlier study measured it (mean reserve, host tier); orientation only. */
  readonly studyCapacityPerSecond?: number;
  /** All lengths are this share of the published ones. */
  readonly tokenScale?: number;
}

/** Sum of all prefixes over the budget: above 1 they cannot all be resident. */
export function budgetPressure(agents: readonly SimAgent[], budgetTokens: number): number {
  return agents.reduce((sum, agent) => sum + agent.prefixTokens, 0) / budgetTokens;
}
