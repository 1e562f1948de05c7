import type { Call } from "./call.ts";

/** Shared prefixes that running calls need: each counts once, however many calls use it. */
export class PinnedPrefixes {
  tokens = 0;
  count = 0;
  private readonly users = new Map<string, number>();

  add(call: Call): void {
    this.change(call, 1);
  }

  remove(call: Call): void {
    this.change(call, -1);
  }

  private change(call: Call, by: 1 | -1): void {
    const [prefix, own] = call.spec.segments;
    if (prefix === undefined || own === undefined) return;
    const users = (this.users.get(prefix.stream) ?? 0) + by;
    if (users === 0) this.users.delete(prefix.stream);
    else this.users.set(prefix.stream, users);
    if (users !== (by === 1 ? 1 : 0)) return;
    this.tokens += by * prefix.tokens;
    this.count += by;
  }
}
