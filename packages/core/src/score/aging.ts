/** g_i = 1 + rho * ln(1 + age/H), Eq. 12; ages the admission gain only. `ageSeconds` below 0 counts as 0. */
export function agingFactor(rho: number, ageSeconds: number, scaleSeconds: number): number {
  return 1 + rho * Math.log(1 + Math.max(0, ageSeconds) / Math.max(1, scaleSeconds));
}
