import {
  aloneSeconds,
  budgetOf,
  decodeBound,
  decodeSeconds,
  makeWorkload,
  measure,
  prefillSeconds,
  rateForLoad,
  runLogOf,
  simulate,
  type ArrivalName,
  type CallSeconds,
  type Metrics,
  type Profile,
  type RulesId,
  type Workload,
} from "@topas/sim";

export interface RunRequest {
  readonly workload: string;
  readonly policy: string;
  readonly profile: Profile;
  readonly rules: RulesId;
  readonly budget: number | string;
  readonly load: number;
  readonly arrival: ArrivalName;
  readonly tasks: number;
  readonly seed: number;
  readonly hostTier: boolean;
}

export interface RunAnswer {
  readonly evidence: "simulated";
  readonly workload: string;
  readonly policy: string;
  readonly profile: string;
  readonly rules: string;
  readonly budgetTokens: number;
  readonly load: number;
  readonly ratePerSecond: number | null;
  readonly seed: number;
  /** True: the run got nowhere within its horizon; metrics say how many tasks are open. */
  readonly stopped: boolean;
  readonly metrics: Metrics;
  readonly steps: number;
  readonly simulatedSeconds: number;
  readonly wallSeconds: number;
  readonly stepHash: string;
}

/** One workload under one policy in virtual time. `load` is a share of what a full batch with every prefix found sustains. */
export function runOnce(request: RunRequest): RunAnswer {
  const { profile, seed } = request;
  const budgetTokens = budgetOf(profile, request.budget);
  const bound = callBound(profile, budgetTokens);
  const shape = makeWorkload(request.workload, { seed, tasks: request.tasks, ratePerSecond: 1, options: { budgetTokens } });
  const ratePerSecond = rateForLoad(shape, request.load, bound);
  const workload: Workload = makeWorkload(request.workload, {
    seed,
    tasks: request.tasks,
    arrival: request.arrival,
    ratePerSecond,
    options: { budgetTokens },
  });
  const started = performance.now();
  const result = simulate({
    profile,
    budget: budgetTokens,
    rules: request.rules,
    policy: request.policy,
    agents: workload.agents,
    tasks: workload.tasks,
    record: { log: "full", gaps: true },
    rulesOptions: { hostTier: request.hostTier ? "pcie" : "none" },
  });
  const wallSeconds = (performance.now() - started) / 1000;
  const log = runLogOf(result, {
    agents: workload.agents,
    ...(profile.powerWatts === undefined ? {} : { powerWatts: profile.powerWatts }),
    aloneSeconds: (task) => aloneSeconds(task, workload.agents, bound),
  });
  return {
    evidence: "simulated",
    workload: request.workload,
    policy: request.policy,
    profile: profile.name,
    rules: request.rules,
    budgetTokens,
    load: request.load,
    ratePerSecond: workload.ratePerSecond,
    seed,
    stopped: result.stopped,
    metrics: measure(log),
    steps: result.recorder.steps,
    simulatedSeconds: result.endSeconds,
    wallSeconds,
    stepHash: result.stepHash,
  };
}

/** Engine seconds of a call when the batch is as full as the budget allows. */
function callBound(profile: Profile, budgetTokens: number): CallSeconds {
  return decodeBound({
    budgetTokens,
    residentPrefixes: 1,
    stepSeconds: (batch, context) => decodeSeconds(profile, batch, context),
    prefillTokensPerSecond: 2048 / prefillSeconds(profile, 2048),
  });
}
