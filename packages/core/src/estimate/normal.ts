/** Inverse of the standard normal distribution function (Acklam's rational approximation, relative error below 1.2e-9). */
export function normalQuantile(u: number): number {
  if (!(u > 0)) return -Infinity;
  if (u >= 1) return Infinity;
  if (u < LOW) {
    const t = Math.sqrt(-2 * Math.log(u));
    return ratio(C, t) / ratio1(D, t);
  }
  if (u > 1 - LOW) return -normalQuantile(1 - u);
  const t = u - 0.5;
  const r = t * t;
  return (ratio(A, r) * t) / ratio1(B, r);
}

const LOW = 0.02425;
const A = [
  -3.969683028665376e1, 2.209460984245205e2, -2.759285104469687e2, 1.38357751867269e2, -3.066479806614716e1, 2.506628277459239,
];
const B = [-5.447609879822406e1, 1.615858368580409e2, -1.556989798598866e2, 6.680131188771972e1, -1.328068155288572e1];
const C = [
  -7.784894002430293e-3, -3.223964580411365e-1, -2.400758277161838, -2.549732539343734, 4.374664141464968, 2.938163982698783,
];
const D = [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416];

function ratio(coefficients: readonly number[], x: number): number {
  return coefficients.reduce((sum, c) => sum * x + c, 0);
}

/** The same polynomial with a last coefficient of 1. */
function ratio1(coefficients: readonly number[], x: number): number {
  return ratio(coefficients, x) * x + 1;
}

/** Quantile u of a lognormal given by its median and sigma. */
export function lognormalQuantile(median: number, sigma: number, u: number): number {
  return median * Math.exp(sigma * normalQuantile(u));
}

/** Distribution function of the standard normal (Zelen and Severo, absolute error below 7.5e-8). */
export function normalBelow(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const density = Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
  const upper = density * t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  return x >= 0 ? 1 - upper : upper;
}
