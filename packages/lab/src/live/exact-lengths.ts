import {
  EngineError,
  type CallEnd,
  type ChatMessage,
  type Engine,
  type EngineCall,
  type EngineSink,
  type PreparedPrompt,
  type PromptInput,
} from "@topas/engines";

/** Output tokens of a visit (0, 1, ...) of a stage; null: the model decides. */
export type LengthOf = (job: string, stage: string, visit: number) => number | null;

/** Where a call belongs, as its own prompt says. */
export interface MarkedCall {
  readonly job: string;
  readonly stage: string;
  /** How many calls of this stage came before it. */
  readonly visit: number;
}

export interface MarkedEngine extends Engine {
  /** Null: the call was never submitted, or its prompt has no marker. */
  markOf(callId: string): MarkedCall | null;
}

type Mark = Pick<MarkedCall, "job" | "stage">;

const MARKER = /\[\[([^\]/]+)\/([^\]]+)\]\]/;

/** What a prompt says of itself: `[[job/stage]]`, once, in its first user message that has one. */
export const markerOf = (job: string, stage: string): string => `[[${job}/${stage}]]`;

/**
 * An engine that ends every marked call after exactly the drawn number of tokens, whatever the model would say. The scheduler
 * sees the client's `max_tokens` alone, which still holds: the smaller of the two ends the call. A call that ends before the client's
 * limit ends as a model ends it, with `stop`. Token engines only: a server's length cannot be enforced from here.
 */
export function exactLengths(engine: Engine, lengthOf: LengthOf): MarkedEngine {
  const marks = new WeakMap<object, Mark>();
  const visits = new Map<string, number>();
  const calls = new Map<string, MarkedCall>();
  const keyOf = (prompt: PreparedPrompt): object => prompt.tokens ?? prompt;

  const mark = (call: EngineCall): MarkedCall | null => {
    const known = calls.get(call.id);
    if (known !== undefined) return known;
    const found = marks.get(keyOf(call.prompt));
    if (found === undefined) return null;
    const key = markerOf(found.job, found.stage);
    const visit = visits.get(key) ?? 0;
    visits.set(key, visit + 1);
    const made = { ...found, visit };
    calls.set(call.id, made);
    return made;
  };

  return {
    async start() {
      const description = await engine.start();
      if (description.wire === "tokens") return description;
      await engine.close();
      throw new EngineError("lengths_not_enforced", "output lengths can be enforced on the embedded engine only", 400);
    },
    describe: () => engine.describe(),
    async prepare(input) {
      const prepared = await engine.prepare(input);
      const found = markIn(input);
      if (found !== null) marks.set(keyOf(prepared), found);
      return prepared;
    },
    submit(call, sink) {
      const marked = mark(call);
      const drawn = marked === null ? null : lengthOf(marked.job, marked.stage, marked.visit);
      if (drawn === null) return engine.submit(call, sink);
      const maxTokens = Math.max(1, Math.min(drawn, call.maxTokens));
      const exact = { ...call, maxTokens, stop: [], sampling: { ...call.sampling, ignoreEos: true } };
      engine.submit(exact, maxTokens < call.maxTokens ? endedByModel(sink) : sink);
    },
    cancel: (id) => engine.cancel(id),
    resume: (id) => engine.resume(id),
    apply: (commands) => engine.apply(commands),
    subscribe: (listener) => engine.subscribe(listener),
    close: () => engine.close(),
    markOf: (id) => calls.get(id) ?? null,
  };
}

function endedByModel(sink: EngineSink): EngineSink {
  return {
    token: (token, piece) => sink.token?.(token, piece),
    end: (end: CallEnd) => sink.end(end.reason === "length" ? { ...end, reason: "stop" } : end),
  };
}

function markIn(input: PromptInput): Mark | null {
  const texts = input.kind === "chat" ? input.messages.filter(({ role }) => role === "user").map(textOf) : [input.prompt];
  for (const text of texts) {
    const found = typeof text === "string" ? MARKER.exec(text) : null;
    if (found !== null) return { job: found[1]!, stage: found[2]! };
  }
  return null;
}

/** Content is a string, or a list of parts of which some have text. */
function textOf({ content }: ChatMessage): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { readonly text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join(" ");
}
