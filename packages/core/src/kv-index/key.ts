/** Differences of keys beyond this are as good as infinite; keeps exponentials finite (algorithm 5.4). */
const WIDEST = 60;

export interface KeyTerms {
  /** w_i, operator's configuration. */
  readonly weight: number;
  /** cr_r, within [0.5, 1]. */
  readonly contribution: number;
  /** W_i, token-seconds. */
  readonly remainingAreaTokenSeconds: number;
}

/** The part of a key that does not move with H: ln(w * cr / max(1, W)) (algorithm 5.1). Finite for every input. */
export function baseKey({ weight, contribution, remainingAreaTokenSeconds }: KeyTerms): number {
  const area = Number.isFinite(remainingAreaTokenSeconds) ? Math.max(1, remainingAreaTokenSeconds) : Number.MAX_VALUE;
  const share = weight * contribution;
  return Math.log(share > 0 && Number.isFinite(share) ? share : Number.MIN_VALUE) - Math.log(area);
}

/**
 * key(r) = base - (kappa/H) * tau, higher first. `ratePerSecond` = kappa/H; `arrivalSeconds` counts from any common epoch.
 * Equals the index w*cr/W * exp(kappa*age/H) up to a factor common to all, so it is constant between events.
 */
export function keyFrom(base: number, ratePerSecond: number, arrivalSeconds: number): number {
  return base - ratePerSecond * arrivalSeconds;
}

/** cr_r = 0.5 + 0.5 * min(1, Delta_call / s_r): how much of the call's own service shortens its task's path. */
export function contributionOf(deltaSeconds: number, serviceSeconds: number): number {
  if (!(serviceSeconds > 0)) return 1;
  return 0.5 + 0.5 * Math.min(1, Math.max(0, deltaSeconds) / serviceSeconds);
}

/** e^(difference of two keys), clamped. */
export function ratioOf(difference: number): number {
  return Math.exp(Math.max(-WIDEST, Math.min(WIDEST, difference)));
}
