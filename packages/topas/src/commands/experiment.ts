import { resolve } from "node:path";
import { experiments, runExperiment, terminalReport } from "@topas/lab";
import { Option, type Command } from "commander";
import { whole } from "./options.ts";

interface ExperimentFlags {
  readonly preset: string;
  readonly out?: string;
  readonly seeds?: number;
  readonly workers: number;
  readonly json?: true;
}

/** `topas experiment`: a preset on the simulator, from grid to report. */
export function experimentCommand(program: Command): void {
  const all = experiments();
  const presets = all.map(({ name, minutes }) => `${name} (${minutes} min)`).join(", ");
  program
    .command("experiment")
    .description("compare schedulers on identical simulated workloads and write results.json, report.html and REPORT.md")
    .addOption(
      new Option("--preset <name>", `minutes on two idle cores: ${presets}`)
        .choices(all.map(({ name }) => name))
        .default("quick"),
    )
    .option("--out <dir>", "folder for the results; a run that was stopped goes on from there (default: results/<preset>)")
    .option("--seeds <n>", "seeds per setting (default: the preset's)", whole(1, 1_000))
    .option("--workers <n>", "threads; 0 = this one. The figures do not depend on it", whole(0, 256), 2)
    .option("--json", "print results.json instead of the table")
    .action(async (flags: ExperimentFlags) => {
      const out = resolve(flags.out ?? `results/${flags.preset}`);
      const results = await runExperiment({
        preset: flags.preset,
        out,
        workers: flags.workers,
        ...(flags.seeds === undefined ? {} : { seeds: flags.seeds }),
        command: commandLine(flags),
        write: (text) => process.stderr.write(text),
      });
      console.log(flags.json === true ? JSON.stringify(results) : `${terminalReport(results)}\nwritten to ${out}`);
    });
}

function commandLine({ preset, seeds, workers }: ExperimentFlags): string {
  return `npx topas experiment --preset ${preset}${seeds === undefined ? "" : ` --seeds ${seeds}`} --workers ${workers}`;
}
