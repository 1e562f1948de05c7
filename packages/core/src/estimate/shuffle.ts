/**
 * A permutation of 0..size-1 from a 64-bit hash of two names: common random numbers without randomness (algorithm 2.5).
 * The same names give the same permutation for ever; the permutations of different stages are unrelated.
 */
export function shuffle(out: Uint16Array, size: number, task: string, stage: string): void {
  let a = 0x9e3779b9;
  let b = 0x243f6a88;
  for (const text of [task, "\u0000", stage])
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 0x85ebca6b);
      b = Math.imul(b ^ code, 0xc2b2ae35);
      a ^= b >>> 15;
    }
  for (let i = 0; i < size; i++) out[i] = i;
  for (let i = size - 1; i > 0; i--) {
    a = (a + 0x6d2b79f5) | 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a) ^ b;
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    const j = Math.floor((((t ^ (t >>> 14)) >>> 0) / 4294967296) * (i + 1));
    const kept = out[i]!;
    out[i] = out[j]!;
    out[j] = kept;
  }
}
