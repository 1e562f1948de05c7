import { createHash } from "node:crypto";
import type { Prefix } from "../v1/prefix.ts";

/** Calls of one agent that must all differ before its prefix is said to be volatile. */
const VOLATILE_AFTER = 3;
const AGENTS_KEPT = 1_000;

/** Identity of what all calls of an agent share: sha256 over model, system text and tools exactly as sent, never normalised. */
export function prefixId(body: unknown): string | null {
  if (typeof body !== "object" || body === null) return null;
  const { model, messages, system, tools } = body as Record<string, unknown>;
  const leading: unknown[] = [];
  for (const message of Array.isArray(messages) ? (messages as unknown[]) : []) {
    const { role, content } = (message ?? {}) as { role?: unknown; content?: unknown };
    if (role !== "system" && role !== "developer") break;
    leading.push(content);
  }
  const shared = JSON.stringify([model ?? null, leading, system ?? null, tools ?? []]);
  return `sha256:${createHash("sha256").update(shared).digest("hex")}`;
}

/** Says of each prefix whether its agent was ever seen to send the same one twice: a clock at its head never lets that happen. */
export function prefixWatch(): (agent: string, id: string) => Prefix {
  const seen = new Map<string, { readonly ids: Set<string>; repeated: boolean }>();
  return (agent, id) => {
    const known = seen.get(agent) ?? { ids: new Set<string>(), repeated: false };
    seen.delete(agent);
    seen.set(agent, known);
    if (seen.size > AGENTS_KEPT) seen.delete(seen.keys().next().value!);
    known.repeated ||= known.ids.has(id);
    if (known.ids.size < VOLATILE_AFTER) known.ids.add(id);
    return { id, tokens: null, stable: known.repeated || known.ids.size < VOLATILE_AFTER };
  };
}
