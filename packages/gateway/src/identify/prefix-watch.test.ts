import { describe, expect, it } from "vitest";
import { createPrefixWatch } from "./prefix-watch.ts";

/** The rig's tokenizer: one word, one token. */
const planner = Array.from({ length: 2_200 }, (_, i) => 1_000 + i);
const now = 1;
const clocks = [7, 12, 17, 22, 27, 32];

const watched = (prompts: readonly (readonly number[])[]) => {
  const watch = createPrefixWatch();
  return prompts.map((tokens) => watch.observe("planner", tokens.join(), Int32Array.from(tokens), 16));
};

describe("prefix watch", () => {
  it("K04: a clock at the head of the system prompt leaves nothing to keep, with one warning", () => {
    const verdicts = watched(clocks.map((clock) => [now, clock, ...planner]));
    expect(verdicts[0]).toEqual({ firstDiffToken: null, effectiveTokens: 2192, seenBefore: false, warn: false });
    expect(verdicts[1]).toEqual({ firstDiffToken: 1, effectiveTokens: 0, seenBefore: false, warn: true });
    for (const verdict of verdicts.slice(2))
      expect(verdict).toEqual({ firstDiffToken: 1, effectiveTokens: 0, seenBefore: false, warn: false });
  });

  it("K04 control: the clock behind the prefix leaves 137 blocks", () => {
    const last = watched(clocks.map((clock) => [...planner, now, clock])).at(-1);
    expect(last).toEqual({ firstDiffToken: 2201, effectiveTokens: 2192, seenBefore: false, warn: false });
  });

  it("what is common never grows back, and equal prefixes stay whole", () => {
    const short = planner.slice(0, 100);
    const verdicts = watched([planner, planner, planner, short, planner]);
    for (const verdict of verdicts.slice(0, 3))
      expect(verdict).toMatchObject({ firstDiffToken: null, effectiveTokens: 2192, warn: false });
    expect(verdicts[3]).toEqual({ firstDiffToken: 100, effectiveTokens: 96, seenBefore: false, warn: true });
    expect(verdicts[4]).toEqual({ firstDiffToken: 100, effectiveTokens: 96, seenBefore: true, warn: false });
  });

  it("the common head has one id per agent and length", () => {
    const watch = createPrefixWatch();
    const tokens = Int32Array.from(planner);
    watch.observe("a", "1", tokens, 16);
    expect(watch.commonId("a", tokens, 96)).toBe(watch.commonId("a", tokens.subarray(0, 500), 96));
    expect(
      new Set([watch.commonId("a", tokens, 96), watch.commonId("a", tokens, 112), watch.commonId("b", tokens, 96)]).size,
    ).toBe(3);
  });
});
