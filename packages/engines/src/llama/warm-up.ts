/** Reference speeds, measured on the machine at hand before the first call. */
import { RowBatch } from "./batch.ts";
import type { OpenModel } from "./model.ts";
import type { ReadyMessage } from "./protocol.ts";

const PREFILL = 128;
const DECODES = 8;

/** A short prefill, a few decodes and a copy on sequence 0, which is empty again afterwards. null: the context is too small or refused. */
export function measureSpeeds(open: OpenModel): ReadyMessage["speeds"] {
  const { llama, ctx, memory } = open;
  const rows = Math.min(PREFILL, open.batchRows, open.cells - DECODES);
  if (rows < 1) return null;
  const batch = new RowBatch(llama, rows);
  try {
    const run = (count: number, from: number): number | null => {
      batch.clear();
      for (let i = 0; i < count; i++) batch.add(0, from + i, 0, i === count - 1);
      const started = performance.now();
      const code = llama.decode(ctx, batch.struct);
      // Reading logits waits for accelerators, which compute after the call returns.
      llama.logitsAt(ctx, count - 1);
      return code === 0 ? performance.now() - started : null;
    };
    const prefillMs = run(rows, 0);
    if (prefillMs === null) return null;
    let decodeMs = 0;
    for (let i = 0; i < DECODES; i++) {
      const ms = run(1, rows + i);
      if (ms === null) return null;
      decodeMs += ms;
    }
    const started = performance.now();
    const state = new Uint8Array(llama.stateSize(ctx, 0));
    const bytes = llama.stateGet(ctx, state, state.length, 0);
    const copySeconds = Math.max(1e-6, (performance.now() - started) / 1000);
    return {
      prefillSecondsPerToken: prefillMs / 1000 / rows,
      decodeSecondsPerToken: decodeMs / 1000 / DECODES,
      copyBytesPerSecond: bytes / copySeconds,
    };
  } finally {
    llama.seqRemove(memory, 0, -1, -1);
    batch.free();
  }
}
