/** What to do when cells run out although nothing more can be evicted. */
import type { Kv } from "./kv.ts";
import type { Request } from "./request.ts";

/** The overflow rule (SGLang's): fewest generated tokens, then longest prompt, then latest admitted. null: nobody's cells would help. */
export function overflowVictim(requests: Iterable<Request>, kv: Kv, spared: Request | null): Request | null {
  let victim: Request | null = null;
  for (const r of requests) {
    if (r.phase !== "active" || r === spared || kv.ledger.gain(r.seq) === 0) continue;
    if (victim === null || goesBefore(r, victim)) victim = r;
  }
  return victim;
}

function goesBefore(a: Request, b: Request): boolean {
  if (a.generated !== b.generated) return a.generated < b.generated;
  if (a.promptTokens !== b.promptTokens) return a.promptTokens > b.promptTokens;
  return a.order > b.order;
}
