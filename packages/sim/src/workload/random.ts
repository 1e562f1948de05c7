import type { Rng } from "../rng.ts";

/** One stream per (component, task, stage). The first draws of neighbouring labels resemble each other, so they are thrown away. */
export function substream(rng: Rng, label: string): Rng {
  const stream = rng.split(label);
  for (let i = 0; i < 12; i++) stream.float();
  return stream;
}

/** Gamma with the given shape and mean 1 (Marsaglia and Tsang 2000; below shape 1 with the usual power of a uniform). */
export function unitMeanGamma(rng: Rng, shape: number): number {
  const boosted = shape < 1 ? shape + 1 : shape;
  const d = boosted - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = rng.normal();
    const v = (1 + c * x) ** 3;
    if (v <= 0) continue;
    const u = 1 - rng.float();
    if (Math.log(u) >= 0.5 * x * x + d - d * v + d * Math.log(v)) continue;
    return (d * v * (shape < 1 ? (1 - rng.float()) ** (1 / shape) : 1)) / shape;
  }
}

/** Number of trials up to the first success: 1, 2, ..., with this mean. */
export function geometric(rng: Rng, mean: number): number {
  if (mean <= 1) return 1;
  return 1 + Math.floor(Math.log(1 - rng.float()) / Math.log(1 - 1 / mean));
}

/** Index drawn with these weights. */
export function pick(rng: Rng, weights: readonly number[]): number {
  let left = rng.float() * weights.reduce((sum, weight) => sum + weight, 0);
  for (let i = 0; i < weights.length - 1; i++) {
    left -= weights[i]!;
    if (left < 0) return i;
  }
  return weights.length - 1;
}
