/** Shared by the tests that run the real engine: small models in a temporary folder, prompts of chosen tokens, calls as promises. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EntryId } from "@topas/core";
import type { CallEnd, EngineEvent, PreparedPrompt, Sampling } from "../../engine.ts";
import { LlamaEngine } from "../engine.ts";
import type { MadeModelName } from "../model-maker.ts";
import { ensureModel } from "../model-maker.ts";
import type { LlamaEngineOptions } from "../options.ts";

export const GREEDY: Sampling = { temperature: 0, topP: 1, topK: 0, minP: 0, seed: 1, ignoreEos: true };
/** Close calls between tokens show in samples sooner than in the most likely token. */
export const SAMPLED: Sampling = { ...GREEDY, temperature: 1.3, seed: 7 };

export function modelPath(name: MadeModelName): Promise<string> {
  return ensureModel(name, join(tmpdir(), "topas-test-models"));
}

/** A started engine that checks its books after every step. */
export async function startEngine(name: MadeModelName, options: Partial<LlamaEngineOptions> = {}): Promise<LlamaEngine> {
  const path = await modelPath(name);
  const engine = new LlamaEngine({ modelPath: path, kvTokens: 1024, mode: "exact", checkEveryStep: true, ...options });
  await engine.start();
  return engine;
}

/** Runs `use` on a fresh engine, that is on an empty cache, and closes it. */
export async function withEngine<T>(
  name: MadeModelName,
  options: Partial<LlamaEngineOptions>,
  use: (engine: LlamaEngine) => Promise<T>,
): Promise<T> {
  const engine = await startEngine(name, options);
  try {
    return await use(engine);
  } finally {
    await engine.close();
  }
}

/** `count` varied token ids of ordinary words; another `salt`, other ids from the first on. */
export function words(count: number, salt: number): number[] {
  return Array.from({ length: count }, (_, i) => 400 + ((i * 37 + salt * 101 + ((i * i) % 13)) % 600));
}

/** A prompt as `prepare` would make it, without asking the engine. */
export function promptOf(
  tokens: readonly number[],
  prefix: { readonly id: string; readonly tokens: number } | null = null,
): PreparedPrompt {
  return { tokens: Int32Array.from(tokens), promptTokens: tokens.length, exact: true, prefix };
}

export function prefixEntry(id: string): EntryId {
  return `prefix:${id}`;
}

export interface Outcome {
  readonly tokens: number[];
  readonly text: string;
  readonly end: CallEnd;
  /** How often the sink heard of the end: must be 1. */
  readonly ends: number;
}

export interface CallOptions {
  readonly maxTokens?: number;
  readonly sampling?: Sampling;
  readonly stop?: readonly string[];
  readonly session?: string | null;
  readonly onToken?: (count: number) => void;
}

let unique = 0;

/** A name no other call of this process has; only its uniqueness matters. */
export function freshId(): string {
  return `call-${unique++}`;
}

export function call(engine: LlamaEngine, prompt: PreparedPrompt, o: CallOptions = {}, id: string = freshId()): Promise<Outcome> {
  return new Promise((resolve) => {
    const tokens: number[] = [];
    const bytes: Uint8Array[] = [];
    let ends = 0;
    engine.submit(
      {
        id,
        prompt,
        maxTokens: o.maxTokens ?? 24,
        sampling: o.sampling ?? GREEDY,
        stop: o.stop ?? [],
        session: o.session ?? null,
        http: null,
      },
      {
        token(token, piece) {
          tokens.push(token);
          bytes.push(piece);
          o.onToken?.(tokens.length);
        },
        end(end) {
          ends++;
          if (ends > 1) throw new Error(`${id} ended ${ends} times`);
          resolve({ tokens, text: Buffer.concat(bytes).toString("utf8"), end, ends });
        },
      },
    );
  });
}

/** Resolves with the next event that matches. */
export function nextEvent<K extends EngineEvent["kind"]>(
  engine: LlamaEngine,
  kind: K,
): Promise<Extract<EngineEvent, { kind: K }>> {
  return new Promise((resolve) => {
    const stop = engine.subscribe((event) => {
      if (event.kind !== kind) return;
      stop();
      resolve(event as Extract<EngineEvent, { kind: K }>);
    });
  });
}
