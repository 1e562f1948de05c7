/** Token counts of an answer, found in its last bytes. Nothing is parsed while it streams. */
import { NO_USAGE, type CallUsage } from "../engine.ts";

/** A usage block ends every dialect's answer; the terminator and trailing members fit in this many bytes. */
const TAIL_BYTES = 16_384;

/** The last chunks of a body, by reference: never more than {@link TAIL_BYTES} and one chunk. */
export class Tail {
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  push(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    let first = this.#chunks[0];
    while (first !== undefined && this.#bytes - first.length >= TAIL_BYTES) {
      this.#bytes -= first.length;
      this.#chunks.shift();
      first = this.#chunks[0];
    }
  }

  text(): string {
    const bytes = Buffer.concat(this.#chunks);
    return bytes.toString("utf8", Math.max(0, bytes.length - TAIL_BYTES));
  }
}

/**
 * The last usage object in the text; what it does not say stays null. OpenAI counts cached tokens inside the prompt, Anthropic beside
 * it: both are brought to the first form. Quotes inside generated text are escaped there, so a `"usage"` key is never made up by it.
 */
export function findUsage(tail: string): CallUsage {
  for (let at = tail.lastIndexOf('"usage"'); at >= 0; at = at === 0 ? -1 : tail.lastIndexOf('"usage"', at - 1)) {
    const open = /^"usage"\s*:\s*\{/u.exec(tail.slice(at, at + 64));
    const usage = open === null ? null : parseObject(tail, at + open[0].length - 1);
    if (usage !== null) return readUsage(usage);
  }
  return NO_USAGE;
}

/** "length" when the answer says so, else "stop". */
export function findReason(tail: string): "stop" | "length" {
  return /"(?:finish_reason"\s*:\s*"length|stop_reason"\s*:\s*"max_tokens)"/u.test(tail) ? "length" : "stop";
}

/** The JSON object that starts at `from`. Usage objects hold no strings with braces. */
function parseObject(text: string, from: number): Record<string, unknown> | null {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "{") depth += 1;
    else if (text[at] === "}" && --depth === 0) {
      try {
        return JSON.parse(text.slice(from, at + 1)) as Record<string, unknown>;
      } catch {
        return null;
      }
    }
  }
  return null;
}

function readUsage(usage: Record<string, unknown>): CallUsage {
  const beside = [count(usage["cache_read_input_tokens"]), count(usage["cache_creation_input_tokens"])];
  const input = count(usage["prompt_tokens"]) ?? count(usage["input_tokens"]);
  const prompt = input === null ? null : input + (beside[0] ?? 0) + (beside[1] ?? 0);
  const details = usage["prompt_tokens_details"] ?? usage["input_tokens_details"];
  const inside =
    typeof details === "object" && details !== null ? count((details as { cached_tokens?: unknown }).cached_tokens) : null;
  const cached = inside ?? beside[0] ?? null;
  return {
    ...NO_USAGE,
    promptTokens: prompt,
    // Some engines count shared blocks twice: never more than the prompt.
    cachedTokens: cached === null || prompt === null ? cached : Math.min(cached, prompt),
    completionTokens: count(usage["completion_tokens"]) ?? count(usage["output_tokens"]),
  };
}

function count(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
