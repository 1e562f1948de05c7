import { expect, test } from "vitest";
import { createRng } from "../rng.ts";
import { Call } from "./call.ts";
import { DecodeSet } from "./decode-set.ts";

interface Plain {
  readonly call: Call;
  held: number;
  generated: number;
}

/** The same set kept call by call. */
function naive(members: readonly Plain[], block: number): { context: number; due: number } {
  return {
    context: members.reduce((sum, one) => sum + one.held + 1, 0),
    due: members.filter((one) => one.held % block === 0).length,
  };
}

test.each([1, 16])("sums equal stepping every call, block %i", (block) => {
  const rng = createRng(block);
  const set = new DecodeSet(block);
  let plain: Plain[] = [];
  for (let step = 0, order = 0; step < 2_000; step++) {
    if (rng.float() < 0.2) {
      const spec = {
        id: `c${order}`,
        segments: [{ stream: "s", tokens: 1 + rng.int(99) }],
        outputTokens: 2 + rng.int(80),
        maxTokens: 100,
      };
      const call = new Call(spec, order++, { streams: [0], tokens: [0] }, 0);
      call.generated = 1;
      set.join(call, call.promptTokens, call.promptTokens + 1);
      plain.push({ call, held: call.promptTokens, generated: 1 });
    }
    if (plain.length > 0 && rng.float() < 0.05) {
      const [gone] = plain.splice(rng.int(plain.length), 1);
      set.leave(gone!.call, gone!.call.heldAtJoin + 1);
      expect([gone!.call.generated, gone!.call.filled]).toEqual([gone!.generated, gone!.held]);
    }
    const expected = naive(plain, block);
    expect(set.contextTokens).toBe(expected.context);
    expect(set.blocksDue()).toBe(expected.due);
    set.advance();
    for (const one of plain) {
      one.held += 1;
      one.generated += 1;
    }
    const done = plain.filter((one) => one.generated === one.call.outputTokens);
    plain = plain.filter((one) => one.generated < one.call.outputTokens);
    for (const one of done) {
      const call = set.complete();
      expect(call).toBe(one.call);
      set.leave(call!, call!.heldAtJoin + 1);
    }
    expect(set.complete()).toBeNull();
    expect(set.count).toBe(plain.length);
  }
});
