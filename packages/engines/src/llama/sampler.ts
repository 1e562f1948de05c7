/** One sampler chain per call; it holds the random state, so it lives through preemption. */
import type { Sampling } from "../engine.ts";
import type { Handle, Llama } from "./ffi.ts";

/** Drawn from the clock by llama.cpp: not reproducible, therefore refused. */
export const RANDOM_SEED = 0xffffffff;

/** null, or why these parameters cannot be used. */
export function samplingProblem(s: Sampling): string | null {
  if (!Number.isInteger(s.seed) || s.seed < 0 || s.seed >= RANDOM_SEED) return `seed must be an integer in [0, ${RANDOM_SEED})`;
  if (!(s.temperature >= 0)) return "temperature must be 0 or more";
  if (!(s.topP > 0)) return "topP must be more than 0";
  return null;
}

/** Greedy alone at temperature 0, else top_k, top_p, min_p, temp, dist. Free it with `samplerFree`, which frees its members too. */
export function makeChain(llama: Llama, s: Sampling): Handle {
  const chain = llama.chainNew(llama.chainDefaults());
  if (s.temperature === 0) {
    llama.chainAdd(chain, llama.greedy());
    return chain;
  }
  if (s.topK > 0) llama.chainAdd(chain, llama.topK(s.topK));
  if (s.topP < 1) llama.chainAdd(chain, llama.topP(s.topP, 1));
  if (s.minP > 0) llama.chainAdd(chain, llama.minP(s.minP, 1));
  llama.chainAdd(chain, llama.temp(s.temperature));
  llama.chainAdd(chain, llama.dist(s.seed));
  return chain;
}
