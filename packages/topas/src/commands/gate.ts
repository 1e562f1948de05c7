import { columns, EXIT_CODES, gateTable, judge, readResults, type Results } from "@topas/lab";
import type { Command } from "commander";

interface GateFlags {
  readonly policy?: string;
  readonly baseline?: string;
  readonly json?: true;
}

/** `topas gate`: promote, hold or experimental, with every clause. It recommends, it never deploys. */
export function gateCommand(program: Command): void {
  program
    .command("gate <results.json>")
    .description("say whether measured results are enough to promote a policy; exit code 0 promote, 2 hold, 3 experimental")
    .option("--policy <name>", "candidate (default: topas-guarded where it ran, else the first joint policy)")
    .option("--baseline <name>", "what it must beat (default: the best scheduler that engines ship, per workload)")
    .option("--json", "print the decision as JSON")
    .action((path: string, flags: GateFlags, command: Command) => {
      const results = readOrSay(path, command);
      const gate = judge(results, flags);
      if (flags.json === true) console.log(JSON.stringify(gate, null, 2));
      else {
        const table = gateTable({ ...results, gate })!;
        console.log(`${table.title}\n${table.note}\nevidence: ${results.evidence}\n${columns([table.head, ...table.rows])}`);
      }
      process.exitCode = EXIT_CODES[gate.decision];
    });
}

/** What is wrong with a user's file is said without a stack. */
function readOrSay(path: string, command: Command): Results {
  try {
    return readResults(path);
  } catch (error) {
    return command.error(`topas: ${error instanceof Error ? error.message : String(error)}`);
  }
}
