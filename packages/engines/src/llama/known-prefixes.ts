/** Token ids of prefixes seen lately, so that one can be loaded before any call asks for it. */
import type { EntryId } from "@topas/core";
import type { PreparedPrompt } from "../engine.ts";

const REMEMBERED = 1_024;

export class KnownPrefixes {
  /** Least recently seen first. */
  readonly #tokens = new Map<EntryId, Int32Array>();

  learn(prompt: PreparedPrompt): void {
    const { prefix, tokens } = prompt;
    if (prefix === null || tokens === null) return;
    const entry: EntryId = `prefix:${prefix.id}`;
    const known = this.#tokens.get(entry) ?? tokens.slice(0, prefix.tokens);
    this.#tokens.delete(entry);
    this.#tokens.set(entry, known);
    const oldest = this.#tokens.keys().next().value;
    if (this.#tokens.size > REMEMBERED && oldest !== undefined) this.#tokens.delete(oldest);
  }

  /** null: never seen, or forgotten. */
  tokens(entry: EntryId): Int32Array | null {
    return this.#tokens.get(entry) ?? null;
  }
}
