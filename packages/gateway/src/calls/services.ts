import type { CallUsage } from "@topas/engines";
import type { Clock } from "../clock.ts";
import type { KeyLimiter } from "../key-limits.ts";
import type { GatewayLimits, GatewayOptions } from "../options.ts";
import type { Scheduler } from "../scheduler.ts";
import type { LiveCall } from "./live-call.ts";
import type { LiveCalls } from "./live-calls.ts";

/** What every call of one gateway shares. */
export interface CallServices {
  readonly scheduler: Scheduler;
  readonly prepare: GatewayOptions["prepare"];
  readonly identify: GatewayOptions["identify"];
  readonly models: readonly string[];
  readonly limits: GatewayLimits;
  readonly clock: Clock;
  readonly live: LiveCalls;
  readonly keyLimiter: KeyLimiter;
  /** Open gateways pass the client's key on: without us it would have gone to the upstream. */
  readonly keepAuthorization: boolean;
  /** A fault of ours, for the log: the client learns of it as a bare 500. */
  failed(error: unknown, call: LiveCall): void;
  /** Told once a call, at its terminal event. `code` null with status 499: the client left. */
  settled(call: LiveCall, status: number, code: string | null, usage: CallUsage | null): void;
}
