import type { PolicyChanges } from "@topas/core";
import { GatewayError } from "../errors.ts";
import { noKeyLimits, type KeyLimits } from "../key-limits.ts";
import { loopDefaults, type LoopSettings } from "../loop/settings.ts";
import { unreadOptions } from "./policy-options.ts";
import type { ConfigFile } from "./schema.ts";

/** Everything that may change while the gateway serves, each value as it is in force. */
export interface LiveConfig extends LoopSettings {
  readonly policy: string;
  readonly policyOptions: PolicyChanges;
  /** null: none. */
  readonly shadow: string | null;
  readonly keyLimits: KeyLimits;
  readonly log: string;
}

export const liveDefaults: LiveConfig = {
  ...loopDefaults,
  policy: "topas-guarded",
  policyOptions: {},
  shadow: null,
  keyLimits: noKeyLimits,
  log: "warn",
};

/** What the file says over the defaults, and what `held` says over both (flags of the command line win). */
export function liveConfig(file: ConfigFile, held: Partial<LiveConfig> = {}): LiveConfig {
  return { ...liveDefaults, ...said(file), ...held };
}

/** The keys that the file names. */
export function said(file: ConfigFile): Partial<LiveConfig> {
  const { queue, tasks, keys } = file;
  const all: { [K in keyof LiveConfig]?: LiveConfig[K] | undefined } = {
    policy: file.policy,
    // The schema's own words are core's; what is left out is left out.
    policyOptions: file.policyOptions as PolicyChanges | undefined,
    shadow: file.shadow,
    log: file.log,
    queueLimit: queue?.limit,
    queueDeadlineSeconds: queue?.deadlineSeconds,
    stallSeconds: queue?.stallSeconds,
    maxRetractions: queue?.maxRetractions,
    taskIdleSeconds: tasks?.idleSeconds,
    keyLimits: keys === undefined ? undefined : { ...noKeyLimits, ...(keys as Partial<KeyLimits>) },
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

/** @throws GatewayError 422 `invalid_config` when the options are not those of the policy. */
export function checkOptions({ policy, policyOptions }: Pick<LiveConfig, "policy" | "policyOptions">): void {
  const { unread, read } = unreadOptions(policy, policyOptions);
  if (unread.length === 0) return;
  throw new GatewayError("invalid_config", {
    message: `policyOptions.${unread[0]}: policy ${policy} does not read it: use one of ${read}, or name another policy`,
    param: `policyOptions.${unread[0]}`,
  });
}

export interface Change {
  readonly key: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** Key by key, in the order of `after`. */
export function differences<T extends object>(before: T, after: T): readonly Change[] {
  return Object.entries(after).flatMap(([key, to]): Change[] => {
    const from: unknown = before[key as keyof T];
    return same(from, to) ? [] : [{ key, from, to }];
  });
}

/** Of plain data. */
export function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
