import { GatewayError } from "./errors.ts";

/** Limits of one API key; null: none. They count in this process only: two gateways before one upstream allow twice as much (K45). */
export interface KeyLimits {
  /** Calls without a terminal event. */
  readonly inFlight: number | null;
  readonly requestsPerMinute: number | null;
  /** Prompt and output tokens, booked when a call ends: the call that goes over the limit is served, the next one is refused. */
  readonly tokensPerMinute: number | null;
}

export const noKeyLimits: KeyLimits = { inFlight: null, requestsPerMinute: null, tokensPerMinute: null };

/** What one admitted call holds, until the first of the two is called. */
export interface Lease {
  /** The call has ended, having used these tokens. */
  release(nowSeconds: number, tokens: number): void;
  /** The call was refused before any work was done on it: it does not count as a request. */
  giveBack(): void;
}

export interface KeyLimiter {
  /** In force for the next call. */
  limits: KeyLimits;
  /** Keys it remembers. */
  readonly size: number;
  /**
   * All limits are taken together or none is (K44); null: there are none.
   * Throws a GatewayError 429 `rate_limit_exceeded` that names the limit.
   */
  take(key: string, nowSeconds: number): Lease | null;
  counters(): Readonly<Record<"refused_key_in_flight_total" | "refused_key_requests_total" | "refused_key_tokens_total", number>>;
}

/** What a key has used and not yet been forgiven: a minute's worth drains in a minute. */
interface Account {
  inFlight: number;
  requests: number;
  tokens: number;
  atSeconds: number;
}

const SWEEP_AT = 1_000;

export function createKeyLimiter(limits: KeyLimits = noKeyLimits): KeyLimiter {
  const accounts = new Map<string, Account>();
  const counts = { refused_key_in_flight_total: 0, refused_key_requests_total: 0, refused_key_tokens_total: 0 };
  let sweepAt = SWEEP_AT;
  const limiter: KeyLimiter = {
    limits,
    take,
    counters: () => ({ ...counts }),
    get size() {
      return accounts.size;
    },
  };

  function drain(account: Account, nowSeconds: number): void {
    const minutes = Math.max(0, nowSeconds - account.atSeconds) / 60;
    const { requestsPerMinute, tokensPerMinute } = limiter.limits;
    account.requests = requestsPerMinute === null ? 0 : Math.max(0, account.requests - requestsPerMinute * minutes);
    account.tokens = tokensPerMinute === null ? 0 : Math.max(0, account.tokens - tokensPerMinute * minutes);
    account.atSeconds = nowSeconds;
  }

  function refuseOver(account: Account): void {
    const { inFlight, requestsPerMinute, tokensPerMinute } = limiter.limits;
    if (inFlight !== null && account.inFlight >= inFlight) {
      counts.refused_key_in_flight_total++;
      throw tooMany(`this key has ${account.inFlight} calls in flight, its limit is ${inFlight}: wait for one to end`, 1);
    }
    if (requestsPerMinute !== null && account.requests + 1 > requestsPerMinute) {
      counts.refused_key_requests_total++;
      const seconds = (60 * (account.requests + 1 - requestsPerMinute)) / requestsPerMinute;
      throw tooMany(`this key has used its ${requestsPerMinute} requests per minute: send fewer`, seconds);
    }
    if (tokensPerMinute !== null && account.tokens >= tokensPerMinute) {
      counts.refused_key_tokens_total++;
      const seconds = (60 * (account.tokens - tokensPerMinute)) / tokensPerMinute;
      throw tooMany(`this key has used its ${tokensPerMinute} tokens per minute: send less`, seconds);
    }
  }

  function take(key: string, nowSeconds: number): Lease | null {
    const { inFlight, requestsPerMinute, tokensPerMinute } = limiter.limits;
    if (inFlight === null && requestsPerMinute === null && tokensPerMinute === null) return null;
    const account = accounts.get(key) ?? { inFlight: 0, requests: 0, tokens: 0, atSeconds: nowSeconds };
    drain(account, nowSeconds);
    refuseOver(account);
    account.inFlight++;
    account.requests++;
    accounts.set(key, account);
    if (accounts.size > sweepAt) sweep(nowSeconds);
    let held = true;
    const end = (requests: number, tokens: number): void => {
      if (!held) return;
      held = false;
      account.inFlight--;
      account.requests = Math.max(0, account.requests - requests);
      account.tokens += tokens;
    };
    return {
      release(endSeconds, tokens) {
        drain(account, endSeconds);
        end(0, tokens);
      },
      giveBack: () => end(1, 0),
    };
  }

  function sweep(nowSeconds: number): void {
    for (const [key, account] of accounts) {
      drain(account, nowSeconds);
      if (account.inFlight === 0 && account.requests === 0 && account.tokens === 0) accounts.delete(key);
    }
    sweepAt = Math.max(SWEEP_AT, 2 * accounts.size);
  }

  return limiter;
}

function tooMany(message: string, retryAfterSeconds: number): GatewayError {
  return new GatewayError("rate_limit_exceeded", { message, retryAfterSeconds });
}
