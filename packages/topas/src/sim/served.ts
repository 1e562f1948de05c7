import { startGateway } from "@topas/gateway";
import { stepTimer, type CpuStep, type Profile } from "@topas/sim";
import type { LlamaEngine } from "@topas/engines/llama";
import OpenAI from "openai";
import { words } from "../demo/workload.ts";

const SYSTEM_TOKENS = 300;
const PROMPT_TOKENS = 100;
// The made model's text would end anywhere.
const EXACT_LENGTH = { ignore_eos: true };
const OUTPUT_TOKENS = 32;
const BATCHES = [1, 3, 6];

/** Step times of an engine that is served, over what its profile says. */
export interface Served {
  readonly decode: number;
  readonly prefill: number;
  /** Wall time of a step outside the engine, milliseconds. */
  readonly hostMs: number;
  /** From the client's call to its first token, less the engine's steps in between: HTTP, tokens, scheduling, the way back. */
  readonly frontendMs: number;
}

/**
 * The gateway and its clients share cores and caches with the engine, which the engine alone does not show. So the same machine
 * serves streamed calls of one agent, its prefix in place, and every step is compared with what the profile says about it.
 */
export async function measureServed(engine: LlamaEngine, profile: Profile, rounds: number): Promise<Served> {
  const gateway = await startGateway({ engine, policy: "fcfs", host: "127.0.0.1", port: 0, keys: new Map(), logLevel: "silent" });
  try {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: "unused", maxRetries: 0, timeout: 600_000 });
    // Code that is not compiled yet is slow.
    for (const batch of BATCHES) await together(client, batch, 0);
    const frontend: number[] = [];
    const watch = new StepWatch(profile, engine.options.kvTokens);
    const stop = engine.subscribe((event) => {
      if (event.kind === "step") watch.step(event);
    });
    for (let round = 1; round <= rounds; round++)
      for (const batch of BATCHES) {
        const before = watch.prefillMs;
        const [first] = await together(client, batch, round);
        if (batch === 1) frontend.push(first! - (watch.prefillMs - before));
        watch.pause();
      }
    stop();
    return { ...watch.result(), frontendMs: frontend.reduce((a, b) => a + b, 0) / frontend.length };
  } finally {
    await gateway.close();
  }
}

/** The profile of the engine while it is served. */
export function whileServed(profile: Profile, { decode, prefill, hostMs }: Served): Profile {
  const step = profile.step as CpuStep;
  return {
    ...profile,
    step: {
      ...step,
      decodeMs: step.decodeMs.map(([sequences, ms]) => [sequences, ms * decode] as const),
      decodeMicrosPerContextToken: step.decodeMicrosPerContextToken * decode,
      residencyMicrosPerSequenceToken: step.residencyMicrosPerSequenceToken * decode,
      prefillMsPerStep: (step.prefillMsPerStep ?? 0) * prefill,
      prefillMsPerToken: step.prefillMsPerToken * prefill,
      prefillMsPerTokenSquared: step.prefillMsPerTokenSquared * prefill,
      residencyMicrosPerPrefillToken: step.residencyMicrosPerPrefillToken * prefill,
      hostMs,
    },
  };
}

interface StepEvent {
  readonly ms: number;
  readonly freeTokens: number;
  readonly deltas: readonly { readonly request: string; readonly prefilled: number; readonly decoded: number }[];
}

class StepWatch {
  private readonly kvTokens: number;
  private readonly predict: ReturnType<typeof stepTimer>;
  private readonly held = new Map<string, number>();
  private readonly decode = { ms: 0, predictedMs: 0 };
  private readonly prefill = { ms: 0, predictedMs: 0 };
  private outsideMs = 0;
  private spans = 0;
  private last: number | null = null;

  constructor(profile: Profile, kvTokens: number) {
    this.kvTokens = kvTokens;
    this.predict = stepTimer({ ...profile, step: { ...(profile.step as CpuStep), hostMs: 0 } });
  }

  /** What comes next is not right behind what came before. */
  pause(): void {
    this.last = null;
    this.held.clear();
  }

  step({ ms, freeTokens, deltas }: StepEvent): void {
    const load = { prefillTokens: 0, chunks: 0, prefillWork: 0, decodes: 0, contextTokens: 0, residentTokens: 0 };
    for (const { request, prefilled, decoded } of deltas) {
      const before = this.held.get(request) ?? SYSTEM_TOKENS;
      this.held.set(request, before + (prefilled > 0 ? prefilled : decoded));
      if (prefilled > 0) {
        load.prefillTokens += prefilled;
        load.chunks += 1;
        load.prefillWork += prefilled * (before + prefilled / 2);
      } else {
        load.decodes += 1;
        load.contextTokens += before + 1;
      }
    }
    load.residentTokens = this.kvTokens - freeTokens;
    const side = load.prefillTokens > 0 ? this.prefill : this.decode;
    side.ms += ms;
    side.predictedMs += 1000 * this.predict(load);
    const now = performance.now();
    if (this.last !== null) {
      this.outsideMs += now - this.last - ms;
      this.spans += 1;
    }
    this.last = now;
  }

  get prefillMs(): number {
    return this.prefill.ms;
  }

  result(): Omit<Served, "frontendMs"> {
    const of = ({ ms, predictedMs }: StepWatch["decode"]): number => ms / predictedMs;
    return {
      decode: of(this.decode),
      prefill: of(this.prefill),
      hostMs: Math.max(0, this.outsideMs / Math.max(1, this.spans)),
    };
  }
}

/** Milliseconds to the first token of each. */
function together(client: OpenAI, batch: number, salt: number): Promise<number[]> {
  return Promise.all(
    Array.from({ length: batch }, async (_, i) => {
      const sent = performance.now();
      let first = 0;
      const stream = await client.chat.completions.create({
        model: "default",
        stream: true,
        temperature: 0,
        max_tokens: OUTPUT_TOKENS,
        messages: [
          { role: "system", content: words(SYSTEM_TOKENS, 4_999) },
          { role: "user", content: words(PROMPT_TOKENS, 5_000 + 100 * salt + 10 * batch + i) },
        ],
        ...EXACT_LENGTH,
      });
      for await (const chunk of stream)
        if (first === 0 && (chunk.choices[0]?.delta.content ?? "") !== "") first = performance.now();
      return first - sent;
    }),
  );
}
