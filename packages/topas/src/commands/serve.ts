import { join } from "node:path";
import { UsageError } from "../friendly.ts";
import { cacheDirectory, createEngine } from "../engine-choice.ts";
import {
  LOG_LEVELS,
  asInvalidConfig,
  checkOptions,
  liveConfig,
  liveDefaults,
  readConfigFile,
  startGateway,
  type LiveConfig,
  type ReadConfig,
  type RunningGateway,
} from "@topas/gateway";
import { Option, type Command } from "commander";
import { parseKeys } from "../keys.ts";
import { engineChoice, engineOptions, whole, type EngineFlags } from "./options.ts";

interface ServeFlags extends EngineFlags {
  readonly config?: string;
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

const NO_CONFIG: ReadConfig = { file: {}, where: () => "command line" };

/** `topas serve`: what `npm start` runs. */
export function serveCommand(program: Command): void {
  engineOptions(
    program
      .command("serve")
      .description("serve an OpenAI-compatible endpoint with workflow-aware scheduling")
      .option(
        "--config <file>",
        "YAML or JSON, read again on SIGHUP and POST /admin/reload (docs/operations.md); flags win over it",
      )
      .option("--host <address>", "address to listen on", "127.0.0.1")
      .option("--port <n>", "port to listen on; 0 = any free one", whole(0, 65_535), 8900)
      .option("--policy <id>", "scheduling policy (topas policies); passthrough = off", liveDefaults.policy)
      .option("--queue-limit <n>", "waiting calls beyond this get 429", whole(1), liveDefaults.queueLimit)
      .option("--profile <file>", "where learned lengths are kept between runs", join(cacheDirectory(), "profile.json"))
      .option("--no-profile", "learn anew")
      .option("--journal <file>", "append one line per finished call (docs/journal.md); see topas replay")
      .option("--shadow <policy>", "journal where this policy would have decided otherwise, without acting")
      .option("--queue-deadline <seconds>", "a call that waited this long gets 429", whole(1), liveDefaults.queueDeadlineSeconds)
      .addOption(new Option("--log <level>", "log level on stderr").choices([...LOG_LEVELS]).default(liveDefaults.log)),
  ).action(async (flags: ServeFlags, command: Command) => {
    const given = (name: string): boolean => command.getOptionValueSource(name) !== "default";
    const { file, where } = flags.config === undefined ? NO_CONFIG : readConfigFile(flags.config);
    const held = heldBy(flags, given);
    const live = liveConfig(file, held);
    asInvalidConfig(where, () => checkOptions(live));
    const { start = {} } = file;
    const journal = flags.journal ?? start.journal;
    const profile = given("profile") ? flags.profile : (start.profile ?? flags.profile);
    if (live.shadow !== null && journal === undefined)
      throw new UsageError("shadow writes to the journal: name it with --journal FILE, or as start.journal in the configuration");
    const engine = await createEngine(engineChoice(flags));
    const { policy, policyOptions, shadow, keyLimits, log, ...settings } = live;
    const gateway = await startGateway({
      ...settings,
      engine,
      policy,
      policyOptions,
      keyLimits,
      host: given("host") ? flags.host : (start.host ?? flags.host),
      port: given("port") ? flags.port : (start.port ?? flags.port),
      keys: parseKeys(process.env["TOPAS_KEYS"]),
      ...(process.env["TOPAS_ADMIN_TOKEN"] === undefined ? {} : { adminToken: process.env["TOPAS_ADMIN_TOKEN"] }),
      logLevel: log,
      ...(journal === undefined ? {} : { journalFile: journal }),
      ...(shadow === null ? {} : { shadow }),
      ...(profile === false ? {} : { profileFile: profile }),
      ...(flags.config === undefined ? {} : { config: { path: flags.config, held } }),
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
    process.on("SIGHUP", () => hangUp(gateway));
    process.on("SIGINT", stop);
    process.on("SIGTERM", stop);
  });
}

/** Without a file there is nothing to read again; a closed terminal must not take the gateway with it (K72). */
function hangUp({ reload, app }: RunningGateway): void {
  if (reload === null) {
    app.log.warn("SIGHUP: there is no configuration file to read: start with --config FILE");
    return;
  }
  try {
    reload();
  } catch {
    // Told in the log; the old configuration stays in force.
  }
}

/** What the command line itself says of live settings. */
function heldBy(flags: ServeFlags, given: (name: string) => boolean): Partial<LiveConfig> {
  return {
    ...(given("policy") ? { policy: flags.policy } : {}),
    ...(given("queueLimit") ? { queueLimit: flags.queueLimit } : {}),
    ...(given("queueDeadline") ? { queueDeadlineSeconds: flags.queueDeadline } : {}),
    ...(given("log") ? { log: flags.log } : {}),
    ...(flags.shadow === undefined ? {} : { shadow: flags.shadow }),
  };
}

function banner(
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
