import type { Speeds } from "@topas/core";
import type { Profile } from "./profile.ts";
import { decodeSeconds, prefillSeconds } from "./step-time.ts";
import type { HostTier } from "./transfer.ts";

/** Reference speeds a policy plans with: prefill of 2,048 tokens, a decode step of 8 sequences of 2,000 (algorithm 2.1). */
export function referenceSpeeds(profile: Profile, tier: HostTier): Speeds {
  const { transfer } = profile;
  return {
    prefillSecondsPerToken: prefillSeconds(profile, 2_048) / 2_048,
    decodeSecondsPerToken: decodeSeconds(profile, 8, 2_000),
    kvBytesPerToken: profile.kvBytesPerToken,
    copyBytesPerSecond: tier === "slow" ? transfer.slowBytesPerSecond : transfer.hostToDeviceBytesPerSecond,
  };
}
