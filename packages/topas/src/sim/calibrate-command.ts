import { writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { Option, type Command } from "commander";
import { table } from "../demo/report.ts";
import { MADE_MODELS, type MadeModel } from "../engine-choice.ts";
import { calibrate, FULL, QUICK, type CalibratedProfile } from "./calibrate.ts";

interface CalibrateFlags {
  readonly model: MadeModel;
  readonly from?: string;
  readonly out?: string;
  readonly quick?: true;
  readonly json?: true;
}

/** `topas sim calibrate`: the embedded engine's cost model, fitted on this machine. */
export function calibrateCommand(sim: Command): void {
  sim
    .command("calibrate")
    .description("fit the embedded engine's cost model on this machine; the file serves --profile and --calibrated")
    .addOption(modelOption())
    .option("--from <file>", "take what it measured from the JSON of npm run bench:engine -- --json")
    .option("--out <file>", "write the profile there instead of to standard output")
    .option("--quick", "short prompts, two rounds")
    .option("--json", "print one JSON object")
    .action(async (flags: CalibrateFlags) => {
      const found = await calibrate(flags.model, flags.quick === true ? QUICK : FULL, flags.from ?? null);
      const file: CalibratedProfile["profile"] & { readonly frontendMs: number } = {
        ...found.profile,
        frontendMs: found.frontendMs,
      };
      if (flags.out !== undefined) writeFileSync(flags.out, `${JSON.stringify(file, null, 2)}\n`);
      const load = loadavg()[0] ?? 0;
      if (flags.json === true) {
        const { served, seconds } = found;
        console.log(JSON.stringify({ evidence: "real-cpu", model: "made", profile: file, served, seconds, load }));
        return;
      }
      if (flags.out === undefined) {
        console.log(JSON.stringify(file, null, 2));
        return;
      }
      console.log(`real-cpu, made model ${flags.model}; ${found.seconds.toFixed(1)} s; load average ${load.toFixed(1)}\n`);
      const { step, transfer } = found.profile;
      const rows = Object.entries({
        ...step,
        restoreBytesPerSecond: transfer.hostToDeviceBytesPerSecond,
        saveBytesPerSecond: transfer.deviceToHostBytesPerSecond,
        servedDecodeFactor: found.served.decode,
        servedPrefillFactor: found.served.prefill,
        frontendMs: found.frontendMs,
      }).map(([name, value]) => [name, typeof value === "number" ? value.toPrecision(4) : JSON.stringify(value)]);
      console.log(table(["term", "value"], rows));
      console.log(`\nwritten to ${flags.out}`);
    });
}

export function modelOption(): Option {
  return new Option("--model <name>", "made model of the embedded engine").choices(MADE_MODELS).default("tiny5m");
}
