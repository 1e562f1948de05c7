import fc from "fast-check";
import { expect, test } from "vitest";
import { jsonErrorAt } from "./json-position.ts";
import { parseJson } from "./json.ts";
import { stripOwnMembers } from "./wire/openai/strip.ts";

const fault = (text: string): string => {
  try {
    parseJson(Buffer.from(text));
  } catch (error) {
    return (error as Error).message;
  }
  return "none";
};

test.each([
  ['{"a":}', "unexpected character at position 5"],
  ['{"a":1,}', "unexpected character at position 7"],
  ['{"a" 1}', "unexpected character at position 5"],
  ["[1,2", "it ends too early, at position 4"],
  ["nul", "unexpected character at position 0"],
  ["{} {}", "unexpected text after the value at position 3"],
  ['"a\nb"', "unexpected character at position 2"],
  ["[01]", "unexpected character at position 2"],
])("the place of a fault is named, the body never quoted: %s", (text, message) => {
  expect(fault(text)).toBe(`the body is not valid JSON: ${message}`);
});

test("not UTF-8, empty, too deep", () => {
  expect(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22))).toThrow("UTF-8");
  expect(() => parseJson(new Uint8Array())).toThrow("empty");
  expect(() => parseJson(Buffer.from("[".repeat(129) + "]".repeat(129)))).toThrow("nested");
  expect(parseJson(Buffer.from(`${"[".repeat(128)}${"]".repeat(128)}`))).toBeInstanceOf(Array);
  expect(parseJson(Buffer.from(JSON.stringify(`${"[".repeat(500)}\\"${"{".repeat(500)}`)))).toHaveLength(1002);
});

test("a fault behind eight million characters is found", () => {
  expect(jsonErrorAt(`["${"a".repeat(8_000_000)}",]`)).toBe("unexpected character at position 8000004");
});

test("property: whatever JSON.parse refuses has a place, whatever it takes is taken", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", '"', "\\", "]", "x"), (json, at, extra) => {
      const text = json.slice(0, at % (json.length + 1)) + extra + json.slice(at % (json.length + 1));
      let refused = false;
      try {
        JSON.parse(text);
      } catch {
        refused = true;
      }
      expect(fault(text).includes("position")).toBe(refused && text !== "");
    }),
  );
});

test("property: stripping leaves what parsing without our members leaves", () => {
  const own = fc.constantFrom("topas", "cache_salt", "kv_hints", "messages", "a", 'q"}');
  fc.assert(
    fc.property(fc.dictionary(own, fc.jsonValue({ maxDepth: 3 })), fc.constantFrom(0, 2), (body, indent) => {
      const bytes = Buffer.from(JSON.stringify(body, null, indent));
      const { topas: _topas, cache_salt: _salt, kv_hints: _hints, ...rest } = JSON.parse(bytes.toString());
      expect(JSON.parse(Buffer.from(stripOwnMembers(bytes, body)).toString())).toEqual(rest);
    }),
  );
});
