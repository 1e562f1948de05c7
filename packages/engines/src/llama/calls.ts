/** Live calls on the parent's side: whoever ends one, its sink hears exactly one end. */
import type { CallEnd, CallUsage, EngineCall, EngineSink } from "../engine.ts";
import type { CallHandle, EndError, StepMessage } from "./protocol.ts";

interface Live {
  readonly handle: CallHandle;
  readonly id: string;
  readonly promptTokens: number;
  readonly sink: EngineSink;
  streamed: number;
}

export class LiveCalls {
  readonly #byId = new Map<string, Live>();
  readonly #byHandle = new Map<CallHandle, Live>();
  #next = 1;

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  handle(id: string): CallHandle | undefined {
    return this.#byId.get(id)?.handle;
  }

  id(handle: CallHandle): string | undefined {
    return this.#byHandle.get(handle)?.id;
  }

  add(call: EngineCall, sink: EngineSink): CallHandle {
    const handle = this.#next++;
    const live: Live = { handle, id: call.id, promptTokens: call.prompt.promptTokens, sink, streamed: 0 };
    this.#byId.set(call.id, live);
    this.#byHandle.set(handle, live);
    return handle;
  }

  /** Streams a step's tokens. Returns the handles whose sink threw: nobody reads them any more. */
  deliver(step: StepMessage): CallHandle[] {
    const broken: CallHandle[] = [];
    let at = 0;
    for (const [i, handle] of step.calls.entries()) {
      const length = step.lengths[i] ?? 0;
      const piece = step.bytes === null ? EMPTY : step.bytes.subarray(at, at + length);
      at += length;
      const live = this.#byHandle.get(handle);
      if (live === undefined) continue;
      live.streamed++;
      try {
        live.sink.token?.(step.tokens[i] ?? -1, piece);
      } catch {
        broken.push(handle);
      }
    }
    return broken;
  }

  end(handle: CallHandle, reason: CallEnd["reason"], usage: CallUsage, error: EndError | null): void {
    const live = this.#byHandle.get(handle);
    if (live === undefined) return;
    this.#byHandle.delete(handle);
    this.#byId.delete(live.id);
    tell(live.sink, error === null ? { reason, usage } : { reason, usage, error });
  }

  /** Ends them all; the engine knows no more than what was streamed. */
  endAll(reason: "failed" | "cancelled", error: Omit<EndError, "retryable"> | null): void {
    for (const live of this.#byHandle.values()) {
      const usage = { ...unknownUsage(live.promptTokens), completionTokens: live.streamed };
      this.end(live.handle, reason, usage, error === null ? null : { ...error, retryable: live.streamed === 0 });
    }
  }
}

const EMPTY = new Uint8Array(0);

export function unknownUsage(promptTokens: number): CallUsage {
  return { promptTokens, cachedTokens: null, completionTokens: 0, computedTokens: null, redoneTokens: null, retainedTokens: 0 };
}

/** A sink that throws at its end has had its end. */
export function tell(sink: EngineSink, end: CallEnd): void {
  try {
    sink.end(end);
  } catch {
    // Its own affair.
  }
}
