/** Exact key of a subset of groups, given as one byte per group: a small integer up to 30 groups, a number up to 53, text beyond. */
export type SetKey = number | string;

export function createSetKeys(size: number): (members: Uint8Array) => SetKey {
  if (size <= 30) {
    return (members) => {
      let key = 0;
      for (let i = 0; i < size; i++) key = (key << 1) | members[i]!;
      return key;
    };
  }
  if (size <= 53) {
    const powers = Float64Array.from({ length: size }, (_, i) => 2 ** i);
    return (members) => {
      let key = 0;
      for (let i = 0; i < size; i++) if (members[i] === 1) key += powers[i]!;
      return key;
    };
  }
  return (members) => {
    let key = "";
    for (let start = 0; start < size; start += 16) {
      let word = 0;
      for (let i = start; i < Math.min(size, start + 16); i++) word = word * 2 + members[i]!;
      key += String.fromCharCode(word);
    }
    return key;
  };
}
