import type { KeyOrder } from "../policy/policy.ts";
import { keyOrder } from "./key-order.ts";

/** By a hash of the id: no idea at all, a sanity floor. */
export const random: KeyOrder = keyOrder("random", {}, () => (request) => hashText(request.spec.id));

/** FNV-1a with a final mix, 32 bits. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
