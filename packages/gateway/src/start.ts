import type { AddressInfo } from "node:net";
import type { Engine } from "@topas/engines";
import type { FastifyInstance } from "fastify";
import { createReload, type ConfigSource, type ReloadReport } from "./config/reload.ts";
import { GatewayError } from "./errors.ts";
import { identifyReceipt } from "./identify/out-of-band.ts";
import { identify } from "./identify.ts";
import { createKeyLimiter, type KeyLimits } from "./key-limits.ts";
import { Loop, type LoopOptions } from "./loop.ts";
import type { GatewayLimits } from "./options.ts";
import { openJournal } from "./journal.ts";
import { createProfileFile } from "./profile-store.ts";
import { buildGateway } from "./server.ts";
import { createWorkflowStore, parseWorkflow } from "./workflows.ts";

export interface StartOptions extends Omit<LoopOptions, "nowSeconds" | "workflows" | "log" | "profiles" | "journal"> {
  /** Not yet started. */
  readonly engine: Engine;
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** API key to tenant; empty: open, everybody is tenant "default". */
  readonly keys: ReadonlyMap<string, string>;
  readonly adminToken?: string;
  readonly limits?: Partial<GatewayLimits>;
  /** Per key; absent: none. */
  readonly keyLimits?: KeyLimits;
  /** The file that `reload` reads; what it says at the start is the caller's to pass in. */
  readonly config?: ConfigSource;
  /** File to append the journal to (docs/journal.md); needed by `shadow`. */
  readonly journalFile?: string;
  /** File for learned lengths; absent: learned anew by every process. */
  readonly profileFile?: string;
  /** pino level on stderr, or "silent". */
  readonly logLevel?: string;
}

export interface RunningGateway {
  readonly url: string;
  readonly loop: Loop;
  readonly app: FastifyInstance;
  /** Reads the configuration file again. null: there is none. Its function throws a GatewayError 422 `invalid_config`. */
  readonly reload: (() => ReloadReport) | null;
  /** Drains, then closes HTTP, loop and engine. Idempotent. */
  close(): Promise<void>;
}

/** Engine, loop and HTTP in one process, listening. @throws EngineError, GatewayError, or the system's error when the port is taken. */
export async function startGateway(options: StartOptions): Promise<RunningGateway> {
  const description = await options.engine.start();
  const workflows = createWorkflowStore();
  const clock = { nowSeconds: () => performance.now() / 1000, unixMs: () => Date.now() };
  let loop: Loop | null = null;
  try {
    let app: FastifyInstance | null = null;
    const told: [string, object][] = [];
    const warn = (message: string, data: object): void => {
      if (app === null) told.push([message, data]);
      else app.log.warn(data, message);
    };
    const header = {
      policy: options.policy,
      shadow: options.shadow ?? null,
      engine: description.engine,
      model: description.model,
      budgetTokens: description.kvBudgetTokens,
    };
    loop = new Loop({
      ...options,
      ...(options.journalFile === undefined ? {} : { journal: openJournal(options.journalFile, header, warn) }),
      ...(options.profileFile === undefined ? {} : { profiles: createProfileFile(options.profileFile, warn) }),
      workflows,
      nowSeconds: clock.nowSeconds,
      log: (level, message, data) => app?.log[level](data ?? {}, message),
    });
    const keyLimiter = createKeyLimiter(options.keyLimits);
    const log = {
      get level() {
        return app?.log.level ?? "silent";
      },
      set level(level) {
        if (app !== null) app.log.level = level;
      },
      warn: (data: object, message: string) => app?.log.warn(data, message),
      error: (data: object, message: string) => app?.log.error(data, message),
    };
    const reload = options.config === undefined ? null : createReload(options.config, { loop, keyLimiter, log });
    app = buildGateway({
      scheduler: loop,
      keyLimiter,
      ...(reload === null ? {} : { reload }),
      prepare: (input) => options.engine.prepare(input),
      models: [description.model],
      identify: (input) => workflows.reconcile(identify(input)),
      parseWorkflow: (_id, body) => {
        const parsed = parseWorkflow(body);
        if (!parsed.ok) throw new GatewayError(parsed.code, { message: parsed.message });
        return parsed.graph;
      },
      parseReceipt: (input) => {
        const update = identifyReceipt(input);
        if (!update.ok) throw new GatewayError("invalid_receipt", { message: `${update.code}: ${update.message}` });
        return { ...workflows.reconcile(update.identified).identity, stage: update.stage };
      },
      keys: options.keys,
      ...(options.adminToken === undefined ? {} : { adminToken: options.adminToken }),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      clock,
      log: options.logLevel === undefined ? false : { level: options.logLevel, stream: process.stderr },
    });
    for (const [message, data] of told) app.log.warn(data, message);
    await app.listen({ host: options.host, port: options.port });
    const { port } = app.server.address() as AddressInfo;
    const running = loop;
    const http = app;
    return {
      url: `http://${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
      loop: running,
      app: http,
      reload,
      close: async () => {
        await http.close();
        await running.close();
      },
    };
  } catch (error) {
    await (loop === null ? options.engine.close() : loop.close());
    throw error;
  }
}
