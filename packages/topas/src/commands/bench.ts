import { policyIds } from "@topas/core";
import { InvalidArgumentError, type Command } from "commander";
import { ALLOWANCE, barFor } from "../bench/bars.ts";
import { measureDecide, type DecideRow } from "../bench/decide.ts";
import { measureMemory } from "../bench/memory.ts";
import { table } from "../demo/report.ts";
import { whole } from "./options.ts";

const WANTED = ["fcfs", "lpm-task-o", "topas", "topas-guarded", "topas-nopre", "kv-index-safe", "kv-index-nopre"];
const MEMORY_BAR_MB = 500;

interface DecideFlags {
  readonly waiting: readonly number[];
  readonly running: readonly number[];
  readonly policies: readonly string[];
  readonly seconds: number;
  readonly json?: true;
}

/** `topas bench decide` and `topas bench memory`: what one decision costs, and what core remembers. */
export function benchCommand(program: Command): void {
  const bench = program.command("bench").description("measure the scheduling core on this machine");
  bench
    .command("decide")
    .description("time decisions on contended states, with one finish and its arrivals between two of them")
    .option("--waiting <list>", "queue lengths", numbers, [10, 100, 1_000, 10_000])
    .option("--running <list>", "running calls", numbers, [20])
    .option("--policies <ids>", "comma-separated policies", names, known(WANTED))
    .option("--seconds <n>", "for the whole run, about", whole(1, 3_600), 40)
    .option("--json", "print one JSON object instead of the table")
    .action((flags: DecideFlags) => {
      const cells = flags.policies.flatMap((policy) =>
        flags.running.flatMap((running) => flags.waiting.map((waiting) => ({ policy, running, waiting }))),
      );
      const each = flags.seconds / cells.length;
      const [start, cpu] = [performance.now(), process.cpuUsage()];
      const rows = cells.map(({ policy, running, waiting }) => measureDecide(policy, waiting, running, each));
      const { user, system } = process.cpuUsage(cpu);
      const coreShare = (user + system) / 1_000 / (performance.now() - start);
      if (flags.json === true) return console.log(JSON.stringify({ rows, coreShare }));
      console.log(decideTable(rows));
      console.log(
        `\nthis process had ${Math.round(100 * coreShare)} % of a core; below 90 % the tails are the machine's, not ours`,
      );
    });
  bench
    .command("memory")
    .description("heap held by known tasks of five stages, and what is left of it when they are done")
    .option("--tasks <n>", "how many tasks", whole(1, 10_000_000), 100_000)
    .option("--json", "print one JSON object")
    .action((flags: { readonly tasks: number; readonly json?: true }) => {
      const report = measureMemory(flags.tasks);
      if (flags.json === true) return console.log(JSON.stringify(report));
      const verdict = report.knownMb <= MEMORY_BAR_MB ? "PASS" : "MISS";
      console.log(
        `${report.tasks} tasks of ${report.stagesPerTask} stages: ${report.knownMb.toFixed(0)} MB known, ${report.leftMb.toFixed(1)} MB left when done; bar for 100000: ${MEMORY_BAR_MB} MB ${verdict}`,
      );
    });
}

function decideTable(rows: readonly DecideRow[]): string {
  const us = (n: number): string => n.toFixed(n < 100 ? 1 : 0);
  const lines = rows.map((row) => {
    const bar = barFor(row.policy, row.waiting, row.running);
    const met = bar !== null && row.p50Us <= bar.p50Us && row.p99Us <= bar.p99Us;
    return [
      row.policy,
      String(row.waiting),
      String(row.running),
      ...[row.p50Us, row.p95Us, row.p99Us, row.maxUs].map(us),
      String(Math.round(row.bytesPerDecision)),
      `${Math.round(100 * row.acted)} %`,
      String(row.decisions),
      bar === null ? "-" : `${us(bar.p50Us)} / ${us(bar.p99Us)}`,
      bar === null ? "-" : met ? "PASS" : "MISS",
    ];
  });
  const head = ["policy", "waiting", "running", "p50 us", "p95 us", "p99 us", "max us", "bytes", "acted", "n"];
  return table([...head, `bar p50 / p99 (x${ALLOWANCE})`, ""], lines);
}

function numbers(text: string): number[] {
  return text.split(",").map(whole(1, 1_000_000));
}

function names(text: string): readonly string[] {
  const ids = text.split(",");
  const unknown = ids.filter((id) => !policyIds().includes(id));
  if (unknown.length > 0)
    throw new InvalidArgumentError(`unknown policy ${unknown.join(", ")}; known: ${policyIds().join(", ")}`);
  return ids;
}

function known(ids: readonly string[]): readonly string[] {
  return ids.filter((id) => policyIds().includes(id));
}
