import { existsSync } from "node:fs";
import { findLiveExperiment, runLiveExperiment, type LiveExperiment, type Results } from "@topas/lab";
import { cacheDirectory, MADE_MODELS, type MadeModel } from "../engine-choice.ts";
import { UsageError } from "../friendly.ts";
import { calibrate, QUICK } from "../sim/calibrate.ts";

export interface LiveFlags {
  readonly preset: string;
  readonly seeds?: number;
  readonly model?: string;
  readonly gguf?: string;
  readonly kv?: number;
  readonly hostTier?: number;
  readonly quick?: true;
  readonly policies?: string;
  readonly workloads?: string;
  readonly threads: number;
}

/** A preset on the embedded engine. @throws UsageError naming the option, Interrupted after SIGINT. */
export async function runLivePreset(flags: LiveFlags, out: string, command: string): Promise<Results> {
  const experiment = chosen(await findLiveExperiment(flags.preset), flags);
  const made = madeModel(flags.model ?? experiment.model);
  if (flags.gguf !== undefined && !existsSync(flags.gguf)) throw new UsageError(`--gguf ${flags.gguf}: there is no such file`);
  const { LlamaEngine, ensureModel } = await import("@topas/engines/llama");
  const modelPath = flags.gguf ?? (await ensureModel(made, cacheDirectory()));
  const { threads } = flags;
  const stop = new AbortController();
  const onInterrupt = (): void => stop.abort(new Error("interrupted"));
  process.once("SIGINT", onInterrupt);
  try {
    return await runLiveExperiment({
      experiment,
      seeds: flags.seeds ?? experiment.seeds,
      model: flags.gguf ?? `${made} (made, random weights)`,
      threads,
      modelDecides: flags.gguf !== undefined,
      openEngine: ({ kvTokens, hostTierMib }) =>
        Promise.resolve(new LlamaEngine({ modelPath, kvTokens, hostTierBytes: hostTierMib * 1024 * 1024, threads })),
      calibrate:
        flags.gguf === undefined
          ? async () => (await calibrate(made, QUICK, null)).profile
          : { none: "only made models can be calibrated" },
      out,
      signal: stop.signal,
      command,
      write: (text) => process.stderr.write(text),
    });
  } finally {
    process.off("SIGINT", onInterrupt);
  }
}

function madeModel(name: string): MadeModel {
  const known = MADE_MODELS.find((each) => each === name);
  if (known === undefined) throw new UsageError(`--model ${name} is not one of ${MADE_MODELS.join(", ")}; a file goes to --gguf`);
  return known;
}

/** The experiment as the options want it. */
export function chosen(experiment: LiveExperiment, flags: LiveFlags): LiveExperiment {
  const quick = flags.quick === true ? { ...experiment, ...experiment.quick } : experiment;
  const arms = flags.policies?.split(",");
  const workloads = flags.workloads?.split(",");
  for (const name of workloads ?? [])
    if (!quick.rows.some(({ workload }) => workload === name))
      throw new UsageError(
        `--workloads: ${name} is not one of ${[...new Set(quick.rows.map((row) => row.workload))].join(", ")}`,
      );
  const rows = quick.rows
    .filter(({ workload }) => workloads?.includes(workload) ?? true)
    .map(({ arms: own, kvTokens, ...row }) => {
      const named = arms ?? (flags.quick === true ? quick.arms : own);
      const budget = flags.kv ?? kvTokens;
      return { ...row, ...(named === undefined ? {} : { arms: named }), ...(budget === undefined ? {} : { kvTokens: budget }) };
    });
  return {
    ...quick,
    rows,
    arms: arms ?? quick.arms,
    kvTokens: flags.kv ?? quick.kvTokens,
    hostTierMib: flags.hostTier ?? quick.hostTierMib,
  };
}
