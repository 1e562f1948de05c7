import { describe, expect, test } from "vitest";
import type { SavedKv } from "./host-tier.ts";
import { HostTier } from "./host-tier.ts";

const saved = (bytes: number): SavedKv => ({ state: new Uint8Array(bytes), shared: 0, prefix: null, tokens: new Int32Array(0) });

describe("host tier", () => {
  test("drops the least recently used entries to stay under its cap", () => {
    const tier = new HostTier(100);
    expect(tier.put("prefix:a", saved(40))).toEqual([]);
    expect(tier.put("prefix:b", saved(40))).toEqual([]);
    tier.touch("prefix:a");
    expect(tier.put("session:c", saved(60))).toEqual(["prefix:b"]);
    expect(tier.ids()).toEqual(["prefix:a", "session:c"]);
    expect(tier.bytes).toBe(100);
  });

  test("a copy that can never fit drops nothing", () => {
    const tier = new HostTier(100);
    tier.put("prefix:a", saved(40));
    expect(tier.put("prefix:b", saved(101))).toBeNull();
    expect(tier.ids()).toEqual(["prefix:a"]);
  });

  test("suffixes of preempted calls push entries out and are never dropped", () => {
    const tier = new HostTier(100);
    tier.put("prefix:a", saved(40));
    expect(tier.pin(70)).toEqual(["prefix:a"]);
    expect(tier.put("prefix:b", saved(40))).toBeNull();
    expect(tier.pin(31)).toBeNull();
    tier.unpin(70);
    expect(tier.bytes).toBe(0);
    expect(tier.put("prefix:b", saved(100))).toEqual([]);
  });

  test("replacing an entry counts it once", () => {
    const tier = new HostTier(100);
    tier.put("prefix:a", saved(40));
    tier.put("prefix:a", saved(50));
    expect(tier.bytes).toBe(50);
    expect(tier.delete("prefix:a")).toBe(true);
    expect(tier.delete("prefix:a")).toBe(false);
    expect(tier.bytes).toBe(0);
  });

  test("without a cap nothing is kept", () => {
    expect(new HostTier(0).put("prefix:a", saved(1))).toBeNull();
  });
});
