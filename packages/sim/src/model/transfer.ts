import type { Profile } from "./profile.ts";

/** none: a missing prefix is computed again. pcie: pinned, kernel copies. slow: page by page (section 5). */
export type HostTier = "none" | "pcie" | "slow";

/** One serial copy channel; copies of both directions queue on it. */
export class CopyChannel {
  movedBytes = 0;
  /** Time the channel was at work. */
  busySeconds = 0;
  private freeAtSeconds = 0;
  private readonly bytesPerToken: number;
  private readonly toDevice: number;
  private readonly toHost: number;
  private readonly baseSeconds: number;

  constructor(profile: Profile, tier: HostTier) {
    const { transfer } = profile;
    this.bytesPerToken = profile.kvBytesPerToken;
    this.toDevice = tier === "slow" ? transfer.slowBytesPerSecond : transfer.hostToDeviceBytesPerSecond;
    this.toHost = tier === "slow" ? transfer.slowBytesPerSecond : transfer.deviceToHostBytesPerSecond;
    this.baseSeconds = transfer.baseMicros / 1e6;
  }

  /** Seconds at which a copy asked for now is complete. */
  copy(tokens: number, direction: "toDevice" | "toHost", nowSeconds: number): number {
    const bytes = tokens * this.bytesPerToken;
    this.movedBytes += bytes;
    const seconds = this.baseSeconds + bytes / this[direction];
    this.busySeconds += seconds;
    this.freeAtSeconds = Math.max(nowSeconds, this.freeAtSeconds) + seconds;
    return this.freeAtSeconds;
  }
}
