import { GatewayError } from "../errors.ts";
import type { LiveCall } from "./live-call.ts";

/** The calls without a terminal event: for draining, and for the ids clients give their calls. */
export class LiveCalls {
  readonly calls = new Set<LiveCall>();
  private readonly clientIds = new Set<string>();
  private readonly refuseDuplicates: boolean;
  private idle: (() => void) | null = null;

  constructor(refuseDuplicates: boolean) {
    this.refuseDuplicates = refuseDuplicates;
  }

  /** Throws a GatewayError 409 while a call with this client id, of this tenant, is in flight (K54). */
  checkClientId(tenant: string, clientRequestId: string | null): void {
    if (!this.refuseDuplicates || clientRequestId === null) return;
    if (this.clientIds.has(scoped(tenant, clientRequestId)))
      throw new GatewayError("duplicate_request_id", { param: "x-request-id" });
  }

  add(call: LiveCall): void {
    this.calls.add(call);
    const { tenant, clientRequestId } = call.spec;
    if (this.refuseDuplicates && clientRequestId !== null) this.clientIds.add(scoped(tenant, clientRequestId));
  }

  remove(call: LiveCall): void {
    this.calls.delete(call);
    const { tenant, clientRequestId } = call.spec;
    if (this.refuseDuplicates && clientRequestId !== null) this.clientIds.delete(scoped(tenant, clientRequestId));
    if (this.calls.size === 0) this.idle?.();
  }

  /** Resolves when no call is left. Those still open after `seconds` are aborted with 503 `shutting_down`. */
  async drain(seconds: number): Promise<void> {
    if (this.calls.size > 0 && seconds > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, seconds * 1000);
        this.idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.idle = null;
    }
    for (const call of this.calls) call.abort(new GatewayError("shutting_down"));
  }
}

/** JSON of the pair: ("acme1","2") is not ("acme","12") (K56). */
function scoped(tenant: string, id: string): string {
  return JSON.stringify([tenant, id]);
}
