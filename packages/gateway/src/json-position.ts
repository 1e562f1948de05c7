const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;

/**
 * Where a text that `JSON.parse` refused goes wrong, in characters from 0. V8 names a position for some faults and quotes the
 * body for others; clients need the first and must not get the second. Callers have bounded the nesting already.
 */
export function jsonErrorAt(text: string): string {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    if (!pattern.test(text)) return false;
    at = pattern.lastIndex;
    return true;
  };
  const punctuation = (character: string, spaced = true): boolean => {
    if (spaced) take(SPACE);
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  const string = (): boolean => {
    if (text[at] !== '"') return false;
    at++;
    do while (isPlain(text, at)) at++;
    while (take(ESCAPE));
    return punctuation('"', false);
  };
  const member = (): boolean => {
    take(SPACE);
    return string() && punctuation(":") && value();
  };
  const list = (item: () => boolean, close: string): boolean => {
    if (punctuation(close)) return true;
    do {
      if (!item()) return false;
    } while (punctuation(","));
    return punctuation(close);
  };
  const value = (): boolean => {
    take(SPACE);
    if (punctuation("{")) return list(member, "}");
    if (punctuation("[")) return list(value, "]");
    return string() || take(NUMBER) || take(WORD);
  };
  const whole = value();
  if (whole) take(SPACE);
  if (at >= text.length) return `it ends too early, at position ${text.length}`;
  return `${whole ? "unexpected text after the value" : "unexpected character"} at position ${at}`;
}

/** May this character stand in a JSON string as it is? */
function isPlain(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x20 && code !== 0x22 && code !== 0x5c;
}
