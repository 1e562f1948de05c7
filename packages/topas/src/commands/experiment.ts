import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import {
  experiments,
  Interrupted,
  LIVE_ONLY,
  liveNames,
  recordedExperiment,
  replayShapes,
  runExperiment,
  terminalReport,
  type Results,
} from "@topas/lab";
import { Option, type Command } from "commander";
import { runLivePreset, type LiveFlags } from "../experiment-live/run.ts";
import { UsageError } from "../friendly.ts";
import { whole } from "./options.ts";

interface ExperimentFlags extends LiveFlags {
  readonly engine?: "sim" | "llama";
  readonly out?: string;
  readonly workers: number;
  readonly shapes?: string;
  readonly json?: true;
}

/** Of this checkout: what the last committed live run recorded. */
const SHAPES = fileURLToPath(new URL("../../../../results/ruflo/shapes", import.meta.url));

/** `topas experiment`: a preset from grid to report, in the simulator or on the embedded engine. */
export function experimentCommand(program: Command): void {
  const all = experiments();
  const presets = [...all.map(({ name, minutes }) => `${name} (${minutes} min)`), "ruflo (48 min, embedded engine)"].join(", ");
  program
    .command("experiment")
    .description("compare schedulers on identical workloads and write results.json, report.html and REPORT.md")
    .addOption(
      new Option("--preset <name>", `minutes on two idle cores: ${presets}`)
        .choices([...all.map(({ name }) => name), ...LIVE_ONLY])
        .default("quick"),
    )
    .addOption(
      new Option(
        "--engine <name>",
        "sim: virtual time. llama: the embedded engine, real KV cache (default: llama for ruflo, else sim)",
      ).choices(["sim", "llama"]),
    )
    .option("--out <dir>", "folder for the results; a run that was stopped goes on from there (default: results/<preset>)")
    .option("--seeds <n>", "seeds per setting (default: the preset's)", whole(1, 1_000))
    .option("--workers <n>", "sim: threads; 0 = this one. The figures do not depend on it", whole(0, 256), 2)
    .option("--model <name>", "llama: which made model (default: the preset's)")
    .option("--gguf <file>", "llama: a model file of yours, which then ends its answers itself")
    .option("--kv <tokens>", "llama: KV cache budget in tokens (default: the preset's)", whole(256))
    .option("--host-tier <mib>", "llama: host memory for evicted KV; 0 = off (default: the preset's)", whole(0))
    .option("--threads <n>", "llama: engine threads", whole(1, 256), 1)
    .option("--policies <names>", "llama: comma-separated rows instead of the preset's")
    .option("--workloads <names>", "llama: comma-separated workloads instead of all")
    .option("--quick", "llama: one seed, few rows")
    .option("--shapes <dir>", "sim, preset ruflo: recorded shapes to replay (default: those of results/ruflo)")
    .option("--json", "print results.json instead of the table")
    .action(async (flags: ExperimentFlags) => {
      const engine = flags.engine ?? (LIVE_ONLY.includes(flags.preset) ? "llama" : "sim");
      const out = resolve(flags.out ?? `results/${folderOf(flags.preset, engine)}`);
      try {
        const results = await run(flags, engine, out);
        console.log(flags.json === true ? JSON.stringify(results) : `${terminalReport(results)}\nwritten to ${out}`);
        if (engine === "llama" && results.runs.some(({ error }) => error !== null)) process.exitCode = 1;
      } catch (error) {
        if (!(error instanceof Interrupted)) throw error;
        process.stderr.write(`\nstopped; finished cells are kept in ${out}: the same command goes on from there\n`);
        process.exitCode = 130;
      }
    });
}

/** Results of the engine that a preset was not made for do not go over its own. */
function folderOf(preset: string, engine: "sim" | "llama"): string {
  const own = LIVE_ONLY.includes(preset) ? "llama" : "sim";
  return engine === own ? preset : `${preset}-${engine}`;
}

const LIVE_OPTIONS = ["model", "gguf", "kv", "hostTier", "policies", "workloads", "quick"] as const;

async function run(flags: ExperimentFlags, engine: "sim" | "llama", out: string): Promise<Results> {
  const command = commandLine(flags, engine);
  if (engine === "llama") {
    if (!liveNames().includes(flags.preset))
      throw new UsageError(
        `preset ${flags.preset} runs in the simulator only: leave out --engine llama, or take one of ${liveNames().join(", ")}`,
      );
    return runLivePreset(flags, out, command);
  }
  const misplaced = LIVE_OPTIONS.find((name) => flags[name] !== undefined);
  if (misplaced !== undefined) throw new UsageError(`${optionName(misplaced)} belongs to --engine llama`);
  const write = (text: string): void => void process.stderr.write(text);
  if (LIVE_ONLY.includes(flags.preset)) {
    const experiment = recordedExperiment(flags.preset);
    return replayShapes({ experiment, shapes: resolve(flags.shapes ?? SHAPES), out, command, write });
  }
  return runExperiment({
    preset: flags.preset,
    out,
    workers: flags.workers,
    ...(flags.seeds === undefined ? {} : { seeds: flags.seeds }),
    command,
    write,
  });
}

function commandLine(flags: ExperimentFlags, engine: "sim" | "llama"): string {
  const parts = [`npx topas experiment --preset ${flags.preset}`];
  if (engine === "sim") parts.push(`--workers ${flags.workers}`);
  else parts.push("--engine llama", ...LIVE_OPTIONS.flatMap((name) => optionOf(name, flags[name])));
  if (flags.seeds !== undefined) parts.push(`--seeds ${flags.seeds}`);
  return parts.join(" ");
}

function optionOf(name: string, value: string | number | true | undefined): string[] {
  if (value === undefined) return [];
  return [value === true ? optionName(name) : `${optionName(name)} ${value}`];
}

const optionName = (name: string): string => `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
