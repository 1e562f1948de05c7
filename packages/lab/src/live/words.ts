import { createRng } from "@topas/sim";

/** Text of `tokens` tokens in the vocabulary of the made models: words ` w0000`, one token each. Another model counts them otherwise. */
export function words(tokens: number, seed: number, label: string): string {
  const rng = createRng(seed).split(label);
  return Array.from({ length: Math.max(0, tokens) }, () => ` w${String(rng.int(2_500)).padStart(4, "0")}`).join("");
}
