import { createPolicy, describePolicy, type PolicyChanges } from "@topas/core";
import { z } from "zod";

const share = z.number().min(0).max(1);
const factor = z.number().min(0).max(1_000);
const count = z.int().min(1).max(1_000_000);

/** What a running scheduler may be told about its policy: numbers within sane bounds, names that core knows (docs/policies.md). */
export const policyOptionsSchema = z.strictObject({
  reserve: z.enum(["engine", "mean", "peak", "current", "full", "program"]).optional(),
  fit: z.enum(["stop", "over", "guarded"]).optional(),
  holdSeconds: z.number().min(0).max(86_400).nullable().optional(),
  maxOvertakes: count.nullable().optional(),
  beta: factor.optional(),
  rho: factor.optional(),
  gainFloor: share.optional(),
  revokeFactor: factor.optional(),
  victimGuard: z
    .strictObject({ young: share, times: z.int().min(0).max(1_000) })
    .nullable()
    .optional(),
  sunkWork: z.enum(["paper", "kept"]).optional(),
  reuseForecast: z.enum(["paper", "soon"]).optional(),
  maxPerDecision: z.int().min(1).max(256).optional(),
  enumerateUpTo: z.int().min(0).max(12).optional(),
  workConserving: z.boolean().optional(),
  samples: z.int().min(1).max(256).optional(),
  fallback: z.enum(["off", "over", "guarded"]).optional(),
  fallbackSamples: count.optional(),
  fallbackTruncated: share.optional(),
  fallbackError: z.number().min(0).max(1_000).nullable().optional(),
  kappa: z.number().min(0.001).max(1_000).optional(),
  maxWaitSeconds: z.number().min(0).max(86_400).nullable().optional(),
  requeue: z.enum(["head", "tail"]).optional(),
  fallbackAbove: count.optional(),
  tokensPerPass: z.int().min(0).max(1_000_000).optional(),
  tokensPerSecond: z.number().min(0).max(1_000_000).optional(),
  starvedRatio: factor.optional(),
  ttlSeconds: z.number().min(0).max(86_400).optional(),
});

/** Read by every search and index policy beside the options it lists. */
const FALLBACK_ARM = ["fallback", "fallbackSamples", "fallbackTruncated", "fallbackError"];

/** Options that this policy does not read, and those it does. passthrough ignores all: the kill switch is one word. */
export function unreadOptions(id: string, options: PolicyChanges): { readonly unread: readonly string[]; readonly read: string } {
  const policy = id === "passthrough" ? null : createPolicy(id);
  if (policy === null) return { unread: [], read: "none" };
  const arm = policy.order.kind === "search" || id.startsWith("kv-index") ? FALLBACK_ARM : [];
  const read = ["reserve", ...describePolicy(policy).knobs, ...arm].filter((name) => name in policyOptionsSchema.shape);
  return { unread: Object.keys(options).filter((name) => !read.includes(name)), read: read.join(", ") };
}
