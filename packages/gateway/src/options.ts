import type { IncomingHttpHeaders } from "node:http";
import type { Graph } from "@topas/core";
import type { PreparedPrompt, PromptInput } from "@topas/engines";
import type { Clock } from "./clock.ts";
import type { ReloadReport } from "./config/reload.ts";
import type { KeyLimiter } from "./key-limits.ts";
import type { CallIdentity, Scheduler } from "./scheduler.ts";

export interface IdentifyInput {
  /** From the API key only; nothing a client writes can change it. */
  readonly tenant: string;
  /** Ours, unique in the process. */
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Readonly<Record<string, unknown>>;
  /** The shareable prefix as the engine tokenized it; null: nothing to share. */
  readonly prefixId: string | null;
  /** Monotonic seconds. */
  readonly nowSeconds: number;
  /** Wall clock, for comparing with foreign clocks only. */
  readonly nowMs: number;
}

export interface Identified {
  readonly identity: CallIdentity;
  /** `ok`, `absent` or `ignored:<code>`. */
  readonly receiptStatus: string;
  /** For `x-topas-receipt-warning`, one line each. */
  readonly warnings: readonly string[];
}

/** Never throws: an unreadable receipt is a status, and the call is served as if it had none. */
export type Identify = (input: IdentifyInput) => Identified;

export type ReceiptIdentity = Parameters<Scheduler["receipt"]>[0];

/** Throws a GatewayError 422 `invalid_receipt`. */
export type ParseReceipt = (input: {
  readonly tenant: string;
  readonly body: unknown;
  readonly nowSeconds: number;
  readonly nowMs: number;
}) => ReceiptIdentity;

/** Throws a GatewayError 422 `invalid_workflow` naming the stage or edge at fault. */
export type ParseWorkflow = (id: string, body: unknown) => Graph;

export interface GatewayLimits {
  /** Largest request body in bytes. */
  readonly bodyBytes: number;
  /** Output limit of a call that names none, in tokens. */
  readonly maxTokensDefault: number;
  /** Seconds between `: ping` comments on a stream that has not had its first byte. */
  readonly pingSeconds: number;
  /** Unread bytes a token stream may hold back before the call is cut (slow reader). */
  readonly streamBufferBytes: number;
  /** Seconds that open calls get to finish when the gateway closes. */
  readonly drainSeconds: number;
  /** What happens to a second call with the x-request-id of one in flight. */
  readonly duplicateRequestIds: "refuse" | "serve";
}

export interface GatewayOptions {
  readonly scheduler: Scheduler;
  /** The engine's own `prepare`. */
  readonly prepare: (input: PromptInput) => Promise<PreparedPrompt>;
  /** Ids that `/v1/models` lists; the first one names answers of engines that do not name themselves. */
  readonly models: readonly string[];
  readonly identify: Identify;
  readonly parseWorkflow?: ParseWorkflow;
  readonly parseReceipt?: ParseReceipt;
  readonly limits?: Partial<GatewayLimits>;
  /** API key to tenant. Absent or empty: open, everybody is tenant "default". */
  readonly keys?: ReadonlyMap<string, string>;
  /** Absent: admin routes answer on loopback only. */
  readonly adminToken?: string;
  /** Absent: there is no file to reload. */
  readonly reload?: () => ReloadReport;
  /** Absent: no limits. */
  readonly keyLimiter?: KeyLimiter;
  readonly clock?: Clock;
  /** pino level and destination; false: silent. Secrets are redacted. Successful calls are logged at debug. */
  readonly log?: false | { readonly level: string; readonly stream?: { write(line: string): void } };
}

export const defaultLimits: GatewayLimits = {
  bodyBytes: 8 * 1024 * 1024,
  maxTokensDefault: 512,
  pingSeconds: 10,
  streamBufferBytes: 1024 * 1024,
  drainSeconds: 30,
  duplicateRequestIds: "refuse",
};
