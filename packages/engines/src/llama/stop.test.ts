import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { join, StopMatcher } from "./stop.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Feeds pieces as a call would: until a match, else to the end. */
function run(stops: readonly string[], pieces: readonly Uint8Array[]): { text: Uint8Array; matched: boolean } {
  const matcher = new StopMatcher(stops);
  let text = new Uint8Array(0) as Uint8Array;
  for (const piece of pieces) {
    const { out, matched } = matcher.push(piece);
    text = join(text, out);
    if (matched) return { text, matched };
  }
  return { text: join(text, matcher.flush()), matched: false };
}

describe("stop strings", () => {
  test.each([
    ["split over pieces", ["END"], ["abc E", "N", "D x"], "abc ", true],
    ["a false start", ["END"], ["abc EN", "X"], "abc ENX", false],
    ["a start inside a false start", ["aab"], ["aa", "ab"], "a", true],
    ["held back at the end of the text", ["END"], ["abc", "EN"], "abcEN", false],
    ["the first to be complete wins", ["abcd", "bc"], ["xabcd"], "xa", true],
    ["of those complete together the longest", ["c", "bc"], ["abc"], "a", true],
    ["none given", [], ["abc"], "abc", false],
    ["empty ones do not match", [""], ["abc"], "abc", false],
  ])("%s", (_name, stops, pieces, text, matched) => {
    const result = run(stops, pieces.map(encode));
    expect({ text: decode(result.text), matched: result.matched }).toEqual({ text, matched });
  });

  test("a stop string cut inside a character", () => {
    const bytes = encode("naïve é stop");
    const pieces = Array.from(bytes, (b) => Uint8Array.of(b));
    expect(decode(run(["é"], pieces).text)).toBe("naïve ");
  });

  test("the cut does not depend on the pieces, and nothing is streamed too early", () => {
    const text = fc.stringMatching(/^[abé]{0,30}$/);
    const stops = fc.array(fc.stringMatching(/^[abé]{1,4}$/), { maxLength: 3 });
    fc.assert(
      fc.property(text, stops, fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 40 }), (whole, list, cuts) => {
        const bytes = encode(whole);
        const pieces: Uint8Array[] = [];
        let at = 0;
        for (const n of [...cuts, bytes.length]) {
          pieces.push(bytes.subarray(at, at + n));
          at += n;
        }
        const one = run(list, [bytes]);
        const many = run(list, pieces);
        expect(many.matched).toBe(one.matched);
        expect(decode(many.text)).toBe(decode(one.text));
        expect(one.matched).toBe(list.some((stop) => whole.includes(stop)));
        for (const stop of list) expect(decode(one.text).includes(stop)).toBe(false);
      }),
    );
  });
});
