import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { config, policy } from "../testing/builders.ts";
import { history, play } from "../testing/history.ts";
import { observeCall, observeRounds, observeStage, observeWait, profileKeys, emptyProfile, type Profile } from "./profile.ts";
import { parseProfile, serialiseProfile } from "./persist.ts";

const load = (text: string): Profile => {
  const parsed = parseProfile(text);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.profile;
};

function teachMore(profile: Profile, values: readonly number[]): void {
  for (const v of values) {
    const keys = profileKeys("x", `a${v % 3}`, `s${v % 5}`);
    observeCall(profile, keys, v, v * 1.7);
    observeStage(profile, keys, [v, v * 1.7, v * v, v, v, 1, 1.1], v / 10);
    observeRounds(profile, keys, v % 4);
    observeWait(profile, "x", `a${v % 3}`, v / 7);
  }
}

describe("a stored profile", () => {
  it("loaded and taught more is what it would be if nothing had stopped", () => {
    const values = fc.array(fc.nat(900), { maxLength: 40 });
    fc.assert(
      fc.property(values, values, fc.constantFrom(1, 30), (before, after, times) => {
        const never = emptyProfile();
        for (let i = 0; i < times; i++) teachMore(never, before);
        const loaded = load(serialiseProfile(never));
        expect(loaded).toEqual(never);
        teachMore(never, after);
        teachMore(loaded, after);
        expect(serialiseProfile(loaded)).toBe(serialiseProfile(never));
      }),
      { numRuns: 15, seed: 9 },
    );
  });

  it("holds names and numbers, no ids of tasks", () => {
    fc.assert(
      fc.property(history, (commands) => {
        const { state } = play(config(), policy("topas"), commands);
        const text = serialiseProfile(state.profile);
        expect(load(text)).toEqual(state.profile);
        for (const id of [...state.tasks.keys(), ...state.requests.keys()]) expect(text).not.toContain(`"${id}"`);
      }),
      { numRuns: 10, seed: 9 },
    );
  });

  it("that is damaged, foreign or from another version gives a reason", () => {
    const profile = emptyProfile();
    teachMore(profile, [1, 2, 3, 400]);
    const text = serialiseProfile(profile);
    const reason = (t: string): string => {
      const parsed = parseProfile(t);
      return parsed.ok ? "ok" : parsed.reason;
    };
    expect(reason("")).toBe("notJson");
    expect(reason("null")).toBe("badShape");
    expect(reason("{}")).toBe("unknownVersion");
    expect(reason(text.replace('"version":1', '"version":2'))).toBe("unknownVersion");
    expect(reason(text.replace("400", "401"))).toBe("badChecksum");
    expect(reason(text.slice(0, -9))).toBe("notJson");
    for (let cut = 0; cut < text.length; cut += 97) expect(reason(text.slice(0, cut) + text.slice(cut + 1))).not.toBe("ok");
  });
});
