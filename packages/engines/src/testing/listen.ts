/** A sink for tests that remembers everything it was called for. */
import type { CallEnd, EngineSink } from "../engine.ts";

export interface Heard {
  readonly sink: EngineSink;
  readonly ends: CallEnd[];
  readonly tokens: number[];
  readonly end: Promise<CallEnd>;
  /** Everything the sink was called for, in order. */
  readonly log: string[];
  bytes(): Buffer;
  /** Resolves when `count` tokens (raw engines: chunks) have come. */
  after(count: number): Promise<void>;
}

export function listen(): Heard {
  const [ends, tokens, log, pieces]: [CallEnd[], number[], string[], Uint8Array[]] = [[], [], [], []];
  let resolveEnd = (_end: CallEnd): void => {};
  const end = new Promise<CallEnd>((resolve) => (resolveEnd = resolve));
  let waiting: { count: number; resolve: () => void } | null = null;
  const got = (kind: string, piece: Uint8Array): void => {
    log.push(kind);
    pieces.push(Uint8Array.from(piece));
    if (waiting !== null && pieces.length >= waiting.count) waiting.resolve();
  };
  return {
    ends,
    tokens,
    log,
    end,
    bytes: () => Buffer.concat(pieces),
    after: (count) =>
      new Promise((resolve) => {
        waiting = { count, resolve };
        if (pieces.length >= count) resolve();
      }),
    sink: {
      head: () => void log.push("head"),
      raw: (chunk) => (got("raw", chunk), true),
      token: (token, piece) => {
        tokens.push(token);
        got("token", piece);
      },
      end: (value) => {
        log.push("end");
        ends.push(value);
        resolveEnd(value);
      },
    },
  };
}
