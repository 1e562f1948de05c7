import { uniformFloat64 } from "pure-rand/distribution/uniformFloat64";
import { xoroshiro128plus } from "pure-rand/generator/xoroshiro128plus";

/** A seeded stream of random numbers. One per component, so that changing one knob does not shift the others. */
export interface Rng {
  /** Uniform in [0, 1). */
  float(): number;
  /** Uniform integer in [0, below). */
  int(below: number): number;
  normal(): number;
  /** ln x ~ N(ln median, sigma^2). */
  lognormal(median: number, sigma: number): number;
  exponential(mean: number): number;
  /** An independent stream; equal labels give equal streams whatever was drawn before. */
  split(label: string): Rng;
}

export function createRng(seed: number): Rng {
  const generator = xoroshiro128plus(seed | 0);
  const float = (): number => uniformFloat64(generator);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - float())) * Math.cos(2 * Math.PI * float());
  return {
    float,
    int: (below) => Math.floor(float() * below),
    normal,
    lognormal: (median, sigma) => median * Math.exp(sigma * normal()),
    exponential: (mean) => -mean * Math.log(1 - float()),
    split: (label) => createRng(hashLabel(seed, label)),
  };
}

/** FNV-1a over the label, started from the seed, then mixed: labels that differ in few bits must not give seeds that do. */
function hashLabel(seed: number, label: string): number {
  let hash = (0x811c9dc5 ^ seed) | 0;
  for (let i = 0; i < label.length; i++) hash = Math.imul(hash ^ label.charCodeAt(i), 0x01000193);
  return mix32(hash);
}

/** Finaliser of MurmurHash3 (public domain). */
function mix32(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16);
}
