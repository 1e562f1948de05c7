import { DECLARED_WEIGHT, FULL_TRUST, type Profile, type ProfileStats } from "./profile.ts";

/**
 * Mean with cold start: fewer than 8 own samples are filled up with pseudo-samples of the parent, or, when something was
 * declared, with 4 pseudo-samples of the declared value instead (algorithm 2.3).
 */
export function blendedMean(
  profile: Profile,
  keys: readonly string[],
  samples: (stats: ProfileStats) => number,
  mean: (stats: ProfileStats) => number,
  prior: number,
  declared: number | null,
): number {
  const own = keys[0] === undefined ? undefined : profile.stats.get(keys[0]);
  const n = own === undefined ? 0 : samples(own);
  if (declared !== null) return ((own === undefined ? 0 : mean(own)) * n + declared * DECLARED_WEIGHT) / (n + DECLARED_WEIGHT);
  let value = prior;
  for (let level = keys.length - 1; level >= 0; level--) value = mix(profile.stats.get(keys[level]!), samples, mean, value);
  return value;
}

function mix(
  stats: ProfileStats | undefined,
  samples: (stats: ProfileStats) => number,
  mean: (stats: ProfileStats) => number,
  parent: number,
): number {
  if (stats === undefined) return parent;
  const n = samples(stats);
  const fill = Math.max(0, FULL_TRUST - n);
  return n + fill === 0 ? parent : (n * mean(stats) + fill * parent) / (n + fill);
}
