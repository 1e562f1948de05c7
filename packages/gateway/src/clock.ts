import { performance } from "node:perf_hooks";

/** The gateway's two clocks. Only the monotonic one may enter a decision, a timer or a duration (K75). */
export interface Clock {
  /** Monotonic seconds from an arbitrary origin. */
  nowSeconds(): number;
  /** Wall-clock milliseconds since 1970, for what is printed (`created`) and for foreign clocks. */
  unixMs(): number;
}

export const systemClock: Clock = {
  nowSeconds: () => performance.now() / 1000,
  unixMs: () => Date.now(),
};
