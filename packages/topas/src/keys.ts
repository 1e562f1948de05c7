import { UsageError } from "./friendly.ts";

/**
 * `TOPAS_KEYS`: `key:tenant` pairs separated by commas. A key without a tenant is its own tenant "default".
 * @throws Error naming the pair at fault, never the key itself.
 */
export function parseKeys(text: string | undefined): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  for (const [i, pair] of (text ?? "")
    .split(",")
    .map((p) => p.trim())
    .filter((p) => p !== "")
    .entries()) {
    const cut = pair.lastIndexOf(":");
    const key = cut < 0 ? pair : pair.slice(0, cut);
    const tenant = cut < 0 ? "default" : pair.slice(cut + 1);
    if (key.length < 8 || tenant === "")
      throw new UsageError(`TOPAS_KEYS: pair ${i + 1} must be key:tenant with a key of 8 characters or more`);
    keys.set(key, tenant);
  }
  return keys;
}
