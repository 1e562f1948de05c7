import { Command } from "commander";
import { benchCommand } from "./commands/bench.ts";
import { demoCommand } from "./commands/demo.ts";
import { experimentCommand } from "./commands/experiment.ts";
import { gateCommand } from "./commands/gate.ts";
import { rufloCommand } from "./commands/ruflo.ts";
import { policiesCommand } from "./commands/policies.ts";
import { simCommand } from "./commands/sim.ts";
import { replayCommand } from "./commands/replay.ts";
import { serveCommand } from "./commands/serve.ts";
import { friendly } from "./friendly.ts";

const program = new Command("topas")
  .description("Workflow-aware scheduling for multi-agent LLM serving")
  .version("0.1.0")
  .showHelpAfterError("(see topas --help)");
serveCommand(program);
demoCommand(program);
policiesCommand(program);
benchCommand(program);
experimentCommand(program);
gateCommand(program);
simCommand(program);
replayCommand(program);
rufloCommand(program);

try {
  await program.parseAsync();
} catch (error) {
  console.error(friendly(error));
  process.exitCode = 1;
}
