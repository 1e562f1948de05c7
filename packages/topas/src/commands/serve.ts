import { join } from "node:path";
import { UsageError } from "../friendly.ts";
import { cacheDirectory, createEngine } from "../engine-choice.ts";
import { startGateway } from "@topas/gateway";
import { Option, type Command } from "commander";
import { parseKeys } from "../keys.ts";
import { engineChoice, engineOptions, whole, type EngineFlags } from "./options.ts";

interface ServeFlags extends EngineFlags {
  readonly host: string;
  readonly port: number;
  readonly policy: string;
  readonly queueLimit: number;
  readonly queueDeadline: number;
  readonly log: string;
  readonly profile: string | false;
  readonly journal?: string;
  readonly shadow?: string;
}

/** `topas serve`: what `npm start` runs. */
export function serveCommand(program: Command): void {
  engineOptions(
    program
      .command("serve")
      .description("serve an OpenAI-compatible endpoint with workflow-aware scheduling")
      .option("--host <address>", "address to listen on", "127.0.0.1")
      .option("--port <n>", "port to listen on; 0 = any free one", whole(0, 65_535), 8900)
      .option("--policy <id>", "scheduling policy (topas policies); passthrough = off", "topas-guarded")
      .option("--queue-limit <n>", "waiting calls beyond this get 429", whole(1), 1024)
      .option("--profile <file>", "where learned lengths are kept between runs", join(cacheDirectory(), "profile.json"))
      .option("--no-profile", "learn anew")
      .option("--journal <file>", "append one line per finished call (docs/journal.md); see topas replay")
      .option("--shadow <policy>", "journal where this policy would have decided otherwise, without acting")
      .option("--queue-deadline <seconds>", "a call that waited this long gets 429", whole(1), 600)
      .addOption(
        new Option("--log <level>", "log level on stderr").choices(["silent", "error", "warn", "info", "debug"]).default("warn"),
      ),
  ).action(async (flags: ServeFlags) => {
    if (flags.shadow !== undefined && flags.journal === undefined)
      throw new UsageError("--shadow writes to the journal: name it with --journal FILE");
    const engine = await createEngine(engineChoice(flags));
    const gateway = await startGateway({
      engine,
      policy: flags.policy,
      host: flags.host,
      port: flags.port,
      queueLimit: flags.queueLimit,
      queueDeadlineSeconds: flags.queueDeadline,
      keys: parseKeys(process.env["TOPAS_KEYS"]),
      ...(process.env["TOPAS_ADMIN_TOKEN"] === undefined ? {} : { adminToken: process.env["TOPAS_ADMIN_TOKEN"] }),
      logLevel: flags.log,
      ...(flags.journal === undefined ? {} : { journalFile: flags.journal }),
      ...(flags.shadow === undefined ? {} : { shadow: flags.shadow }),
      ...(flags.profile === false ? {} : { profileFile: flags.profile }),
    });
    console.log(banner(gateway.url, gateway.loop.policyId, engine.describe()));
    let closing = false;
    const stop = (): void => {
      if (closing) return;
      closing = true;
      console.log("draining: streams finish, new calls are refused");
      gateway.close().then(
        () => process.exit(0),
        (error: unknown) => {
          console.error(error);
          process.exit(1);
        },
      );
    };
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });
}

export function banner(
  url: string,
  policy: string,
  engine: { engine: string; model: string; kvBudgetTokens: number | null; notes: readonly string[] },
): string {
  const budget =
    engine.kvBudgetTokens === null ? "not known: the engine does not say" : `${engine.kvBudgetTokens} tokens of KV cache`;
  return [
    `TOPAS serves ${url}/v1`,
    `  policy  ${policy}   (switch: curl -X POST ${url}/admin/policy -H 'content-type: application/json' -d '{"policy":"passthrough"}')`,
    `  budget  ${budget}`,
    `  model   ${engine.model} on ${engine.engine}`,
    "",
    `curl -N ${url}/v1/chat/completions -H 'content-type: application/json' -H 'x-topas-task: picnic-1' -H 'x-topas-agent: planner' \\`,
    `  -d '{"model":"default","stream":true,"max_tokens":24,"messages":[{"role":"system","content":"You are a planner."},{"role":"user","content":"Plan a picnic."}]}'`,
  ].join("\n");
}
