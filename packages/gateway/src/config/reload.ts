import { GatewayError } from "../errors.ts";
import type { KeyLimiter } from "../key-limits.ts";
import type { Loop } from "../loop.ts";
import { makePolicy } from "../loop/make-policy.ts";
import { createShadow } from "../loop/shadow.ts";
import { checkOptions, differences, liveConfig, said, same, type Change, type LiveConfig } from "./live.ts";
import { readConfigFile } from "./read-file.ts";
import { START_KEYS } from "./schema.ts";

export interface ConfigSource {
  readonly path: string;
  /** What the command line said: it wins over the file, at every reload. */
  readonly held?: Partial<LiveConfig>;
}

/** The gateway's parts that a reload writes to. */
export interface ReloadTarget {
  readonly loop: Loop;
  readonly keyLimiter: KeyLimiter;
  readonly log: { level: string; warn(data: object, message: string): void; error(data: object, message: string): void };
}

export interface ReloadReport {
  readonly changed: readonly Change[];
  /** Keys of `start` that differ from what the gateway started with. */
  readonly needsRestart: readonly string[];
  /** Keys that a flag of the command line holds against the file. */
  readonly heldByFlag: readonly string[];
}

/**
 * Makes what the file says the running state, the policy included: all of it, or nothing and a GatewayError 422 `invalid_config`
 * (file, line, field, fix). Calls in flight keep what they have.
 */
export function createReload(source: ConfigSource, target: ReloadTarget): () => ReloadReport {
  const { loop, log } = target;
  const held = source.held ?? {};
  const started = readConfigFile(source.path).file.start;
  return () => {
    let report: ReloadReport;
    try {
      const { file, where } = readConfigFile(source.path);
      const wanted = liveConfig(file, held);
      const changed = differences(inForce(target), wanted);
      put(target, wanted, changed, where);
      const given = said(file);
      report = {
        changed,
        needsRestart: [...START_KEYS].filter((key) => !same(started?.[key], file.start?.[key])).map((key) => `start.${key}`),
        heldByFlag: Object.entries(held).flatMap(([key, value]) =>
          key in given && !same(given[key as keyof LiveConfig], value) ? [key] : [],
        ),
      };
    } catch (error) {
      loop.counters_.config_reload_failed_total++;
      const told = error instanceof Error ? error.message : String(error);
      log.error({ file: source.path, error: told }, "configuration not reloaded: the old one stays");
      throw error;
    }
    loop.counters_.config_reloads_total++;
    log.warn({ file: source.path, ...report }, "configuration reloaded");
    return report;
  };
}

function inForce({ loop, keyLimiter, log }: ReloadTarget): LiveConfig {
  return {
    ...loop.settings,
    policy: loop.policyId,
    policyOptions: loop.policyOptions,
    shadow: loop.shadow?.policyId ?? null,
    keyLimits: keyLimiter.limits,
    log: log.level,
  };
}

/** Everything that can be refused is refused before the first write. */
function put({ loop, keyLimiter, log }: ReloadTarget, wanted: LiveConfig, changed: readonly Change[], where: Where): void {
  const shadow = asInvalidConfig(where, () => {
    checkOptions(wanted);
    void makePolicy(loop.description, wanted.policy, wanted.policyOptions);
    return wanted.shadow === (loop.shadow?.policyId ?? null)
      ? loop.shadow
      : wanted.shadow === null
        ? null
        : createShadow(loop, wanted.shadow);
  });
  const keys = new Set(changed.map(({ key }) => key));
  if (keys.has("policy") || keys.has("policyOptions") || loop.fallback !== null)
    loop.setPolicy(wanted.policy, wanted.policyOptions);
  loop.shadow = shadow;
  loop.change(wanted);
  keyLimiter.limits = wanted.keyLimits;
  log.level = wanted.log;
}

type Where = (param: string | null) => string;

/** What the parts say of a value, said of the file it stands in. */
export function asInvalidConfig<T>(where: Where, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (!GatewayError.isInstance(error)) throw error;
    throw new GatewayError("invalid_config", {
      message: `${where(error.param)}: ${error.message}`,
      param: error.param,
      cause: error,
    });
  }
}
