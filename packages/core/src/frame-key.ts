/** Joins parts into one key so that two keys are equal if and only if all their parts are (length-framed; case K56). */
export function frameKey(...parts: readonly string[]): string {
  let key = "";
  for (const part of parts) key += `${part.length}:${part}`;
  return key;
}
