import { createRng } from "../rng.ts";
import type { SimAgent, SimTask } from "../task.ts";
import { ARRIVALS, arrivalSeconds, type Arrival, type ArrivalName } from "./arrivals.ts";
import { buildTask, resized, type BuildOptions } from "./build-task.ts";
import { findPreset } from "./catalog.ts";
import { budgetPressure, type MaxTokens, type Preset, type TaskPlan } from "./preset.ts";
import { pick, substream } from "./random.ts";
import { TOOL_WAITS, type ToolWaitName } from "./tool-waits.ts";
import { VOLATILE_SPANS, withVolatileSpan, type VolatileName } from "./volatile.ts";

export interface WorkloadOptions {
  /** Multiplies all prefixes. */
  readonly prefixScale?: number;
  /** Longest prefix as a share of the budget (tight 1/3, medium 1/5, loose 1/20); the others keep their proportion. */
  readonly prefixShare?: number;
  /** Multiplies every length; default: the preset's. */
  readonly tokenScale?: number;
  /** Outputs lognormal with this CV around the preset's means. */
  readonly outputCv?: number;
  /** Sigma of the hidden difficulty of a task: 0, 0.5, 1.0. */
  readonly difficultySigma?: number;
  readonly maxTokens?: MaxTokens;
  /** Replaces the waits of stages that have several rounds. */
  readonly toolWaits?: ToolWaitName;
  readonly volatileSpan?: VolatileName;
  /** What the policy is told at arrival. Default: the graph, where the preset's orchestrator could know it. */
  readonly reveal?: BuildOptions["reveal"];
  readonly budgetTokens?: number;
  /** For `maxTokens: "unset"`. */
  readonly contextTokens?: number;
  /** Number of tenants; the rate falls as rank^-1.8, so that 8 of 43 hold nine tenths, as in ServeGen (arXiv 2505.09999). */
  readonly tenants?: number;
}

export interface WorkloadRequest {
  readonly seed: number;
  readonly tasks: number;
  readonly arrival?: ArrivalName | Arrival;
  readonly ratePerSecond?: number;
  /** Offered load as a share of a capacity (saturated, or from capacityPerSecond). Above 1 only with `overload`. */
  readonly load?: { readonly fraction: number; readonly capacityPerSecond: number; readonly overload?: boolean };
  readonly options?: WorkloadOptions;
}

export interface Workload {
  readonly name: string;
  readonly seed: number;
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly SimTask[];
  /** Null when the arrivals have none (all at once, replay). */
  readonly ratePerSecond: number | null;
  readonly load: number | null;
  readonly budgetTokens: number;
  /** Sum of prefixes over the budget, agents of single tasks left out. */
  readonly budgetPressure: number;
}

/** No call takes more of the budget, so that every engine can run it, also with a client's limit of 4,096 on top. */
const LONGEST_CALL_SHARE = 0.75;

/** The whole workload, fixed by its seed before any policy runs. @throws RangeError for an unknown name or an overload not asked for. */
export function makeWorkload(workload: string | Preset, request: WorkloadRequest): Workload {
  const preset = typeof workload === "string" ? findPreset(workload) : workload;
  const { seed, tasks: count, options = {} } = request;
  const tokenScale = options.tokenScale ?? preset.tokenScale ?? 1;
  const budgetTokens = options.budgetTokens ?? preset.budgetTokens;
  const arrival = arrivalOf(preset, request);
  const ratePerSecond = rateOf(preset, arrival, request);
  const root = createRng(seed);
  const times = arrivalSeconds(arrival, count, ratePerSecond ?? 1, substream(root, "arrivals"));
  const build: BuildOptions = {
    tokenScale,
    maxTokens: options.maxTokens ?? preset.maxTokens,
    contextTokens: options.contextTokens ?? 32_768,
    difficultySigma: options.difficultySigma ?? preset.difficultySigma ?? 0,
    outputCv: options.outputCv ?? null,
    toolWaits: options.toolWaits === undefined ? null : TOOL_WAITS[options.toolWaits],
    reveal: options.reveal ?? "graph",
    longestCallTokens: Math.floor(LONGEST_CALL_SHARE * Math.min(budgetTokens, preset.budgetTokens)),
    prefixFactor: prefixFactor(preset, options, budgetTokens, tokenScale),
  };
  const agents = preset.agents.map((agent) => resized(agent, build.prefixFactor));
  const made = times.map((seconds, index) => {
    const id = `t${index + 1}`;
    const plan = planOf(preset, { rng: substream(root, `shape/${index}`), index, count });
    return buildTask(preset, plan, { id, index, seconds }, root, build);
  });
  const tasks = withTenants(
    made.map(({ task }) => task),
    options.tenants ?? 0,
    seed,
  );
  const parts = { agents: [...agents, ...made.flatMap((each) => each.agents)], tasks };
  const span = VOLATILE_SPANS[options.volatileSpan ?? "none"];
  return {
    ...(span === null ? parts : withVolatileSpan(parts, span)),
    name: preset.name,
    seed,
    ratePerSecond,
    load: request.load?.fraction ?? null,
    budgetTokens,
    budgetPressure: budgetPressure(agents, budgetTokens),
  };
}

function planOf(preset: Preset, input: Parameters<Extract<Preset["shape"], (...args: never[]) => unknown>>[0]): TaskPlan {
  return typeof preset.shape === "function" ? preset.shape(input) : { stages: preset.shape };
}

function arrivalOf(preset: Preset, { arrival }: WorkloadRequest): Arrival {
  if (arrival === undefined) return preset.arrival ?? ARRIVALS.poisson;
  return typeof arrival === "string" ? ARRIVALS[arrival] : arrival;
}

function rateOf(preset: Preset, arrival: Arrival, { load, ratePerSecond }: WorkloadRequest): number | null {
  if (arrival.kind === "together" || arrival.kind === "replay") return null;
  if (load !== undefined) {
    const { fraction, capacityPerSecond, overload = false } = load;
    if (!(capacityPerSecond > 0)) throw new RangeError(`load: capacityPerSecond is ${capacityPerSecond}, must be positive`);
    if (fraction > 1 && !overload)
      throw new RangeError(`load ${fraction} is above capacity; say overload: true for an overload test`);
    return fraction * capacityPerSecond;
  }
  const rate = ratePerSecond ?? preset.ratePerSecond;
  if (rate === undefined || !(rate > 0)) throw new RangeError(`workload ${preset.name} needs ratePerSecond or load`);
  return rate;
}

function prefixFactor(preset: Preset, options: WorkloadOptions, budgetTokens: number, tokenScale: number): number {
  if (options.prefixShare === undefined) return tokenScale * (options.prefixScale ?? 1);
  const longest = Math.max(...preset.agents.map((agent) => agent.prefixTokens));
  return longest === 0 ? 1 : (options.prefixShare * budgetTokens) / longest;
}

function withTenants(tasks: readonly SimTask[], tenants: number, seed: number): readonly SimTask[] {
  if (tenants === 0) return tasks;
  const weights = Array.from({ length: tenants }, (_, rank) => (rank + 1) ** -1.8);
  const rng = substream(createRng(seed), "tenants");
  return tasks.map((task) => ({ ...task, tenant: `tenant${pick(rng, weights) + 1}` }));
}
