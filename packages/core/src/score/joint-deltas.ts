import type { JointPath } from "../graph/joint-path.ts";

/**
 * Delta(v | H) of several stages of one task at once (Eq. 6), seconds: the mean over joint samples of what v takes off the
 * longest open end. Per sample only the holder of the maximum gains, down to the second longest, so the cost is
 * O(samples * open ends) for all of them together. null: an open end is a loop, whose rounds need the general question.
 */
export function jointDeltas(
  { parts, joint }: JointPath,
  slots: readonly number[],
  done: (slot: number) => boolean,
): Float64Array | null {
  const out = new Float64Array(slots.length);
  const holders = parts.map((part) => (part.forward === null ? slots.indexOf(part.slots[0]!) : -2));
  if (holders.includes(-2)) return null;
  const over = parts.map((part) => done(part.slots[0]!));
  const { count, values, weights } = joint;
  for (let m = 0; m < count; m++) {
    let longest = 0;
    let second = 0;
    let holder = -1;
    for (let i = 0; i < parts.length; i++) {
      const { behind, slots: own } = parts[i]!;
      const seconds = behind[m]! + (over[i]! ? 0 : values[own[0]! * count + m]!);
      if (seconds > longest) {
        second = longest;
        longest = seconds;
        holder = i;
      } else if (seconds > second) second = seconds;
    }
    if (holder < 0 || over[holder]! || holders[holder]! < 0) continue;
    const left = Math.max(second, parts[holder]!.behind[m]!);
    out[holders[holder]!]! += (longest - left) * (weights === null ? 1 / count : weights[m]!);
  }
  for (let i = 0; i < slots.length; i++) {
    const first = slots.indexOf(slots[i]!);
    if (first < i) out[i] = out[first]!;
  }
  return out;
}
