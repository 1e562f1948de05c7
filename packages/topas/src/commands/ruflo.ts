import { resolve } from "node:path";
import type { Command } from "commander";
import { UsageError } from "../friendly.ts";
import { rufloEnvironment, shellExports } from "../ruflo/environment.ts";
import { PINS } from "../ruflo/pins.ts";
import { runCommand } from "../ruflo/run-command.ts";
import { readSetup, setupRuflo } from "../ruflo/setup.ts";

const RUFLO_FOLDER = ".topas/ruflo";

/** `topas ruflo`: fetch the published packages, and what to put into Ruflo's environment (docs/ruflo.md). */
export function rufloCommand(program: Command): void {
  const ruflo = program.command("ruflo").description("run published Ruflo workflows through the gateway (docs/ruflo.md)");
  ruflo
    .command("setup")
    .description("fetch the pinned Ruflo packages, compare their sha512, install them into a folder of their own")
    .option("--dir <folder>", "where to put them", RUFLO_FOLDER)
    .action(async ({ dir }: { readonly dir: string }) => {
      const say = (line: string): void => void process.stderr.write(`  ${line} ...\n`);
      const { folder, manifest, already } = await setupRuflo({ folder: dir, pins: PINS, run: runCommand, say });
      console.log(
        [
          `${already ? "already there" : "ready"}: ${folder}`,
          ...manifest.packages.map(({ name, version }) => `  ${name} ${version}, sha512 as pinned`),
          `  tree ${manifest.tree} (${manifest.installed} packages)`,
        ].join("\n"),
      );
    });
  ruflo
    .command("env")
    .description('print what Ruflo needs in its environment: eval "$(topas ruflo env)"')
    .option("--dir <folder>", "where setup put the packages", RUFLO_FOLDER)
    .option("--url <address>", "the gateway, without /v1", "http://127.0.0.1:8900")
    .action(async ({ dir, url }: { readonly dir: string; readonly url: string }) => {
      const folder = resolve(dir);
      if ((await readSetup(folder, PINS)) === null)
        throw new UsageError(`${folder} does not hold the pinned packages: run topas ruflo setup --dir ${dir}`);
      console.log(shellExports(rufloEnvironment(folder, url)));
    });
}
