import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import { Option, type Command } from "commander";
import {
  createRng,
  ImportError,
  linesOf,
  mean,
  pairedBootstrap,
  quantile,
  simulate,
  type SimAgent,
  type SimTask,
} from "@topas/sim";
import { table } from "../demo/report.ts";
import { loadProfile } from "../sim/files.ts";
import { fitting, importTrace, TRACE_FORMATS, type TraceFormat } from "../sim/trace.ts";
import { profileError } from "../sim/profile-error.ts";
import { whole } from "./options.ts";

interface ReplayFlags {
  readonly policies: string;
  readonly profile: string;
  readonly budget?: number;
  readonly format: TraceFormat | "auto";
  readonly tasks: number;
  readonly skipBadRows?: true;
  readonly json?: true;
}

interface ReplayRow {
  readonly policy: string;
  readonly tasks: number;
  readonly jctMeanS: number;
  readonly jctP95S: number;
  readonly jctP99S: number;
  /** Mean task time over the first policy's, task by task. */
  readonly ratio: number;
  readonly ratioCi95: readonly [number, number];
  readonly preemptions: number;
}

/** `topas replay`: what recorded traffic would have done under each policy, in the virtual engine. */
export function replayCommand(program: Command): void {
  program
    .command("replay")
    .description("what would my traffic have done under each policy? Replays a journal or a trace in the virtual engine")
    .argument("<file>", "journal of `topas serve --journal`, or a trace; .gz is unpacked")
    .option("--policies <ids>", "comma-separated; the first is the baseline", "fcfs,lpm,task-fcfs-o,topas-guarded,kv-index")
    .option("--profile <name>", "engine profile, see topas sim validate", "qwen2.5-32b-a100")
    .option("--budget <tokens>", "KV budget; default: the journal's, else the profile's", whole(256))
    .addOption(new Option("--format <name>", "what the file is").choices(["auto", ...TRACE_FORMATS]).default("auto"))
    .option("--tasks <n>", "at most this many tasks, in order of arrival", whole(1), 400)
    .option("--skip-bad-rows", "count bad rows instead of stopping at the first")
    .option("--json", "print one JSON object")
    .action((file: string, flags: ReplayFlags) => {
      const bytes = readFileSync(file);
      const lines = linesOf((file.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"));
      const profile = loadProfile(flags.profile);
      const { imported, format, budgetTokens } = importTrace(lines, flags.format, flags.skipBadRows === true);
      const budget = flags.budget ?? budgetTokens ?? profile.kvBudgetTokens["default"];
      if (budget === undefined) throw new ImportError(format, 0, "budget", "is not known: give --budget");
      const { tasks, left } = fitting(imported.agents, imported.tasks, budget, flags.tasks);
      if (tasks.length === 0)
        throw new ImportError(format, 0, "budget", `of ${budget} tokens holds none of the ${imported.tasks.length} tasks`);
      const error = profileError(flags.profile);
      const rows = replayAll(flags.policies.split(","), imported.agents, tasks, flags.profile, budget);
      if (flags.json === true) {
        console.log(
          JSON.stringify({
            evidence: "simulated",
            format,
            budgetTokens: budget,
            tasks: tasks.length,
            leftOut: left,
            profileError: error,
            rows,
          }),
        );
        return;
      }
      console.log(
        `simulated; ${format}, ${tasks.length} tasks (${left} left out), ${flags.profile}, ${budget} tokens of KV cache`,
      );
      console.log(`how sure: ${error}\n`);
      console.log(
        table(
          ["policy", "mean s", "p95 s", "p99 s", `of ${rows[0]?.policy ?? ""}`, "95 % CI", "gain", "preempt"],
          rows.map((r) => [
            r.policy,
            r.jctMeanS.toFixed(2),
            r.jctP95S.toFixed(2),
            r.jctP99S.toFixed(2),
            r.ratio.toFixed(3),
            `${r.ratioCi95[0].toFixed(3)} .. ${r.ratioCi95[1].toFixed(3)}`,
            r.ratioCi95[0] <= 1 && r.ratioCi95[1] >= 1 ? "none seen" : `${(100 * (1 - r.ratio)).toFixed(1)} %`,
            String(r.preemptions),
          ]),
        ),
      );
    });
}

function replayAll(
  policies: readonly string[],
  agents: readonly SimAgent[],
  tasks: readonly SimTask[],
  profile: string,
  budget: number,
): ReplayRow[] {
  let baseline: ReadonlyMap<string, number> | null = null;
  return policies.map((policy) => {
    const result = simulate({ profile: loadProfile(profile), budget, rules: "joint", policy, agents, tasks, keepSessions: true });
    const times = new Map(result.tasks.map((t) => [t.task.id, (t.doneSeconds ?? Number.NaN) - t.arrivalSeconds]));
    const base = (baseline ??= times);
    const pairs = [...times]
      .map(([id, s]): readonly [number, number] => [s, base.get(id) ?? Number.NaN])
      .filter(([a, b]) => a > 0 && b > 0);
    const ratio = (some: readonly (readonly [number, number])[]): number =>
      mean(some.map(([a]) => a)) / mean(some.map(([, b]) => b));
    const ci = pairedBootstrap(pairs, ratio, createRng(1), 1_000);
    const all = [...times.values()].filter((s) => Number.isFinite(s));
    return {
      policy,
      tasks: all.length,
      jctMeanS: mean(all),
      jctP95S: quantile(all, 0.95),
      jctP99S: quantile(all, 0.99),
      ratio: ratio(pairs),
      ratioCi95: [ci.low, ci.high] as const,
      preemptions: result.calls.reduce((n, call) => n + call.preemptions, 0),
    };
  });
}
