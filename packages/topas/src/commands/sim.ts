import { loadavg } from "node:os";
import { InvalidArgumentError, Option, type Command } from "commander";
import { ARRIVALS, listWorkloads, table1, toy, validate, type ArrivalName, type RulesId, type ValidationRow } from "@topas/sim";
import { table } from "../demo/report.ts";
import type { MadeModel } from "../engine-choice.ts";
import { calibrateCommand, modelOption } from "../sim/calibrate-command.ts";
import { loadCalibrated, loadFacts, loadProfile, profileNames, readData } from "../sim/files.ts";
import { runOnce } from "../sim/run.ts";
import { validateLlama } from "../sim/validate-llama.ts";
import { whole } from "./options.ts";

const LABEL = "simulated (calibrated against published measurements; see `topas sim validate`)";

/** `topas sim`: the virtual engine, its validation and its reproductions. */
export function simCommand(program: Command): void {
  const sim = program.command("sim").description("the virtual engine: run, validate, reproduce");
  runCommand(sim);
  calibrateCommand(sim);
  validateCommand(sim);
  table1Command(sim);
  toyCommand(sim);
  workloadsCommand(sim);
}

interface RunFlags {
  readonly workload: string;
  readonly policy: string;
  readonly load: number;
  readonly seed: number;
  readonly tasks: number;
  readonly profile: string;
  readonly rules: RulesId;
  readonly budget: string;
  readonly arrival: ArrivalName;
  readonly hostTier?: true;
  readonly json?: true;
}

function runCommand(sim: Command): void {
  sim
    .command("run")
    .description("one workload under one policy")
    .requiredOption("--workload <name>", "see topas sim workloads")
    .option("--policy <id>", "see topas policies", "topas")
    .option("--load <share>", "offered load as a share of capacity", share, 0.8)
    .addOption(new Option("--arrival <kind>", "process of arrivals").choices(Object.keys(ARRIVALS)).default("poisson"))
    .option("--tasks <n>", "tasks", whole(1), 200)
    .option("--seed <n>", "seed of arrivals, lengths and waits", whole(0), 1)
    .option("--profile <name>", `engine profile: a file or one of ${profileNames().join(", ")}`, "qwen2.5-32b-a100")
    .addOption(
      new Option("--rules <id>", "engine rules; joint: the policy has full control")
        .choices(["joint", "sglang-0.5.x", "vllm-0.11", "vllm-0.19"])
        .default("joint"),
    )
    .option("--budget <tokens>", "KV budget in tokens, or a budget's name in the profile", "20000")
    .option("--host-tier", "evicted prefixes are copied back instead of computed again")
    .option("--json", "print one JSON object")
    .action((flags: RunFlags) => {
      const answer = runOnce({
        ...flags,
        profile: loadProfile(flags.profile),
        budget: /^\d+$/.test(flags.budget) ? Number(flags.budget) : flags.budget,
        hostTier: flags.hostTier === true,
      });
      if (flags.json === true) {
        console.log(JSON.stringify(answer));
        return;
      }
      console.log(LABEL);
      if (answer.stopped) console.log(`stopped at its horizon with ${answer.metrics.backlogTasks} tasks open: no task times`);
      const { metrics, ...run } = answer;
      console.log(
        table(
          ["run", "value"],
          Object.entries(run).map(([k, v]) => [k, show(v)]),
        ),
      );
      console.log(
        `\n${table(
          ["metric", "value"],
          Object.entries(metrics).map(([k, v]) => [k, show(v)]),
        )}`,
      );
    });
}

interface ValidateFlags {
  readonly data?: string;
  readonly engine?: "llama";
  readonly model: MadeModel;
  readonly calibrated?: string;
  readonly rounds: number;
  readonly tasks: number;
  readonly gap: number;
  readonly json?: true;
}

function validateCommand(sim: Command): void {
  sim
    .command("validate")
    .description("the engine model beside published measurements")
    .option(
      "--data <dir>",
      "folder with the RTX 4090 trace (calibration/llmservingsim_vllm_RTX4090_Llama-3.1-8B_requests.jsonl[.gz])",
    )
    .addOption(
      new Option("--engine <name>", "beside a real run of the same requests on the embedded engine instead").choices(["llama"]),
    )
    .addOption(modelOption())
    .option("--calibrated <file>", "profile of topas sim calibrate; default: calibrate around every round")
    .option("--rounds <n>", "real runs, averaged", whole(1), 3)
    .option("--tasks <n>", "tasks of a real run", whole(1, 99), 12)
    .option("--gap <ms>", "time between their arrivals", whole(1), 400)
    .option("--json", "print one JSON object")
    .action(async (flags: ValidateFlags) => {
      if (flags.engine === "llama") return validateEmbedded(flags);
      const trace =
        flags.data === undefined
          ? null
          : readData(flags.data, "calibration/llmservingsim_vllm_RTX4090_Llama-3.1-8B_requests.jsonl");
      if (flags.data !== undefined && trace === null)
        console.error(`no RTX 4090 trace below ${flags.data}: its rows are left out`);
      const profiles = Object.fromEntries(profileNames().map((name) => [name, loadProfile(name)]));
      const rows = validate({ facts: loadFacts(), profiles, ...(trace === null ? {} : { rtx4090RequestsJsonl: trace }) });
      if (flags.json === true) console.log(JSON.stringify({ rows }));
      else console.log(validationTable(rows));
    });
}

async function validateEmbedded(flags: ValidateFlags): Promise<void> {
  const calibrated = flags.calibrated === undefined ? null : loadCalibrated(flags.calibrated);
  const { model, rounds, tasks } = flags;
  const found = await validateLlama({ model, calibrated, rounds, tasks, gapSeconds: flags.gap / 1000 });
  const load = loadavg()[0] ?? 0;
  if (flags.json === true) {
    console.log(JSON.stringify({ evidence: { measured: "real-cpu", simulated: "simulated" }, load, ...found }));
    return;
  }
  console.log(`measured: real-cpu, made model, gateway and HTTP; simulated: simulated; load average ${load.toFixed(1)}\n`);
  console.log(validationTable(found.rows));
  const each = found.rounds.map((r) => `${r.measured.meanTaskSeconds.toFixed(3)} / ${r.simulated.meanTaskSeconds.toFixed(3)}`);
  console.log(`mean task seconds by round, measured / simulated: ${each.join(", ")}`);
}

/** Measured, simulated and error of every row; the last line counts. */
export function validationTable(rows: readonly ValidationRow[]): string {
  const judged = rows.filter((r) => r.pass !== null);
  const body = table(
    ["case", "metric", "measured", "simulated", "error %", "bar %", ""],
    rows.map((r) => [
      r.case,
      r.metric,
      r.measured.toPrecision(4),
      r.simulated.toPrecision(4),
      r.errorPct.toFixed(1),
      r.tolerancePct === null ? "-" : String(r.tolerancePct),
      r.pass === null ? "hold-out" : r.pass ? "pass" : "MISS",
    ]),
  );
  return `${body}\n\n${judged.filter((r) => r.pass).length} of ${judged.length} within their bar, ${rows.length - judged.length} hold-outs printed`;
}

function table1Command(sim: Command): void {
  sim
    .command("table1")
    .description("Table I of TOPAS: grouped against alternating prefixes, beside the paper")
    .option("--json", "print one JSON object")
    .action((flags: { readonly json?: true }) => {
      const rows = table1(loadProfile("qwen2.5-32b-a100")).map((r) => ({
        preset: r.preset,
        n: r.requests,
        makespanGroupedS: r.grouped.makespanSeconds,
        makespanAlternatingS: r.alternating.makespanSeconds,
        ratio: r.ratio,
        batchGrouped: r.grouped.meanBatch,
        batchAlternating: r.alternating.meanBatch,
        paperGroupedS: r.paper.grouped,
        paperAlternatingS: r.paper.alternating,
        paperRatio: r.paper.ratio,
      }));
      if (flags.json === true) {
        console.log(JSON.stringify({ evidence: "simulated", rows }));
        return;
      }
      console.log(LABEL);
      console.log(
        table(
          ["preset", "n", "grouped s", "alternating s", "ratio", "paper grouped s", "paper alternating s", "paper ratio"],
          rows.map((r) => [
            r.preset,
            String(r.n),
            r.makespanGroupedS.toFixed(1),
            r.makespanAlternatingS.toFixed(1),
            r.ratio.toFixed(3),
            r.paperGroupedS.toFixed(1),
            r.paperAlternatingS.toFixed(1),
            r.paperRatio.toFixed(3),
          ]),
        ),
      );
    });
}

function toyCommand(sim: Command): void {
  sim
    .command("toy")
    .description("Fig. 2 of TOPAS: SRPT against LPM on two chains")
    .option("--json", "print one JSON object")
    .action((flags: { readonly json?: true }) => {
      const rows = toy();
      const of = (policy: "srpt" | "lpm") => rows.find((r) => r.policy === policy);
      if (flags.json === true) {
        console.log(JSON.stringify({ srptMeanS: of("srpt")?.meanJct, lpmMeanS: of("lpm")?.meanJct, rows }));
        return;
      }
      for (const r of rows) {
        const bar = r.intervals.map((i) => `${i.call}[${i.start},${i.end})`).join(" ");
        console.log(
          `${r.policy.padEnd(5)} mean ${r.meanJct} (paper ${r.paperMeanJct}), ends at ${r.makespan}, ${r.setups} setups: ${bar}`,
        );
      }
    });
}

function workloadsCommand(sim: Command): void {
  sim
    .command("workloads")
    .description("every workload preset, its source and its prefixes")
    .option("--json", "print one JSON object")
    .action((flags: { readonly json?: true }) => {
      const rows = listWorkloads();
      if (flags.json === true) console.log(JSON.stringify({ rows }));
      else {
        const lines = rows.map((r) => [
          r.name,
          r.family,
          String(r.agents),
          String(r.prefixSumTokens),
          r.budgetPressure.toFixed(2),
          r.description,
        ]);
        console.log(table(["workload", "family", "agents", "prefix tok", "of budget", ""], lines));
      }
    });
}

function share(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value <= 3)) throw new InvalidArgumentError(`expected a number above 0 and up to 3, got "${text}"`);
  return value;
}

function show(value: unknown): string {
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toPrecision(5);
  return typeof value === "string" ? value : JSON.stringify(value);
}
