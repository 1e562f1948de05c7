import { z } from "zod";
import { policyOptionsSchema } from "./policy-options.ts";

const limit = (max: number) => z.int().min(1).max(max);
const seconds = z.number().min(1).max(604_800);
const text = z.string().min(1).max(4_096);

export const LOG_LEVELS = ["silent", "error", "warn", "info", "debug"] as const;

/** What `topas serve --config` reads (docs/operations.md). Every key may be left out; an unknown one is refused. */
export const configSchema = z.strictObject({
  policy: z.string().min(1).max(128).optional(),
  policyOptions: policyOptionsSchema.optional(),
  shadow: z.string().min(1).max(128).nullable().optional(),
  log: z.enum(LOG_LEVELS).optional(),
  queue: z
    .strictObject({
      limit: limit(1_000_000).optional(),
      deadlineSeconds: seconds.optional(),
      stallSeconds: seconds.optional(),
      maxRetractions: limit(1_000_000).optional(),
    })
    .optional(),
  tasks: z.strictObject({ idleSeconds: seconds.optional() }).optional(),
  keys: z
    .strictObject({
      inFlight: limit(1_000_000).nullable().optional(),
      requestsPerMinute: limit(100_000_000).nullable().optional(),
      tokensPerMinute: limit(100_000_000_000).nullable().optional(),
    })
    .optional(),
  /** Read once, when the gateway starts. */
  start: z
    .strictObject({
      host: text.optional(),
      port: z.int().min(0).max(65_535).optional(),
      journal: text.optional(),
      profile: z.union([text, z.literal(false)]).optional(),
    })
    .optional(),
});

export type ConfigFile = z.infer<typeof configSchema>;

/** Keys of `start`. */
export const START_KEYS = ["host", "port", "journal", "profile"] as const;
