/**
 * Remembers the token ids of each session's last call, so that the scheduler can tell how many private tokens a new
 * prompt continues. Bounded by total tokens; the engine has the last word when the call runs.
 */
export class SessionMemory {
  private readonly bySession = new Map<string, Int32Array>();
  private held = 0;
  private readonly maxTokens: number;
  constructor(maxTokens = 8_000_000) {
    this.maxTokens = maxTokens;
  }

  /** Private tokens of `prompt` (after `prefixTokens`) that the session's last call already holds. */
  reusable(session: string, prompt: Int32Array, prefixTokens: number): number {
    const known = this.bySession.get(session);
    if (known === undefined) return 0;
    // The last prompt token is always computed: its logits give the first output token.
    const end = Math.min(known.length, prompt.length - 1);
    let same = 0;
    while (same < end && known[same] === prompt[same]) same++;
    return Math.max(0, same - prefixTokens);
  }

  remember(session: string, tokens: Int32Array): void {
    this.forget(session);
    this.bySession.set(session, tokens);
    this.held += tokens.length;
    for (const oldest of this.bySession.keys()) {
      if (this.held <= this.maxTokens || oldest === session) break;
      this.forget(oldest);
    }
  }

  forget(session: string): void {
    const known = this.bySession.get(session);
    if (known === undefined) return;
    this.held -= known.length;
    this.bySession.delete(session);
  }
}
