import { describe, expect, test } from "vitest";
import type { CallEnd, EngineCall } from "../engine.ts";
import { LiveCalls, unknownUsage } from "./calls.ts";
import { eventOf } from "./events.ts";
import type { StepMessage } from "./protocol.ts";
import { GREEDY, promptOf } from "./testing/kit.ts";

const call = (id: string): EngineCall => ({
  id,
  prompt: promptOf([1, 2, 3]),
  maxTokens: 5,
  sampling: GREEDY,
  stop: [],
  session: null,
  http: null,
});
const step: StepMessage = {
  ev: "step",
  n: 1,
  ms: 2,
  freeTokens: 7,
  calls: [1, 2],
  tokens: [11, 12],
  lengths: [2, 1],
  bytes: new TextEncoder().encode("abc"),
  prefilled: [2, 4, 3, 5],
};

describe("live calls", () => {
  test("a packed step reaches each sink, and its event names the calls", () => {
    const calls = new LiveCalls();
    const seen: string[] = [];
    for (const id of ["a", "b", "c"]) {
      calls.add(call(id), {
        token: (t, piece) => seen.push(`${id}:${t}:${new TextDecoder().decode(piece)}`),
        end: () => undefined,
      });
    }
    expect(calls.deliver(step)).toEqual([]);
    expect(seen).toEqual(["a:11:ab", "b:12:c"]);
    expect(eventOf(step, (h) => calls.id(h))).toEqual({
      kind: "step",
      ms: 2,
      freeTokens: 7,
      deltas: [
        { request: "a", prefilled: 0, decoded: 1 },
        { request: "b", prefilled: 4, decoded: 1 },
        { request: "c", prefilled: 5, decoded: 0 },
      ],
    });
  });

  test("each ends once, and a lost one may be retried only if nothing was streamed", () => {
    const calls = new LiveCalls();
    const ends: [string, CallEnd][] = [];
    for (const id of ["a", "b", "c"]) calls.add(call(id), { end: (end) => ends.push([id, end]) });
    calls.deliver({ ...step, calls: [1], tokens: [11], lengths: [0], bytes: null });
    calls.end(2, "stop", unknownUsage(3), null);
    calls.endAll("failed", { code: "engine_lost", message: "gone", status: 503 });
    calls.end(1, "stop", unknownUsage(3), null);
    calls.endAll("failed", { code: "engine_lost", message: "gone", status: 503 });
    expect(ends.map(([id, end]) => [id, end.reason, end.error?.retryable, end.usage.completionTokens])).toEqual([
      ["b", "stop", undefined, 0],
      ["a", "failed", false, 1],
      ["c", "failed", true, 0],
    ]);
    expect(calls.has("a")).toBe(false);
  });

  test("a sink that throws is reported and does not stop the others", () => {
    const calls = new LiveCalls();
    const seen: number[] = [];
    const broken = calls.add(call("a"), {
      token: () => {
        throw new Error("reader gone");
      },
      end: () => {
        throw new Error("reader gone");
      },
    });
    calls.add(call("b"), { token: (t) => seen.push(t), end: () => undefined });
    expect(calls.deliver(step)).toEqual([broken]);
    expect(seen).toEqual([12]);
    calls.end(broken, "cancelled", unknownUsage(3), null);
    expect(calls.has("a")).toBe(false);
  });
});
