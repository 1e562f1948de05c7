import { describe, expect, it } from "vitest";
import { createPrefixWatch } from "./prefix-watch.ts";

/** The rig's tokenizer: one word, one token. */
const planner = Array.from({ length: 2_200 }, (_, i) => 1_000 + i);
const now = 1;
const clocks = [7, 12, 17, 22, 27, 32];

describe("prefix watch", () => {
  it("K04: a clock at the head of the system prompt leaves nothing to keep, with one warning", () => {
    const watch = createPrefixWatch();
    const verdicts = clocks.map((clock) => watch.observe("planner", [now, clock, ...planner], 16));
    expect(verdicts[0]).toEqual({ firstDiffToken: null, effectiveTokens: 2192, warn: false });
    expect(verdicts[1]).toEqual({ firstDiffToken: 1, effectiveTokens: 0, warn: true });
    expect(verdicts.slice(2)).toEqual(Array.from({ length: 4 }, () => ({ firstDiffToken: 1, effectiveTokens: 0, warn: false })));
  });

  it("K04 control: the clock behind the prefix leaves 137 blocks", () => {
    const watch = createPrefixWatch();
    const last = clocks.map((clock) => watch.observe("planner", [...planner, now, clock], 16)).at(-1);
    expect(last).toEqual({ firstDiffToken: 2201, effectiveTokens: 2192, warn: false });
  });

  it("what is common never grows back, and equal prefixes stay whole", () => {
    const watch = createPrefixWatch();
    for (let i = 0; i < 3; i++)
      expect(watch.observe("same", planner, 16)).toEqual({ firstDiffToken: null, effectiveTokens: 2192, warn: false });
    expect(watch.observe("same", planner.slice(0, 100), 16)).toEqual({ firstDiffToken: 100, effectiveTokens: 96, warn: true });
    expect(watch.observe("same", planner, 16)).toEqual({ firstDiffToken: 100, effectiveTokens: 96, warn: false });
  });
});
