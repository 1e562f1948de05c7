import { createHash } from "node:crypto";
import { TEXT_PATTERN } from "@topas/receipt";

/**
 * Length-framed join: equal if and only if the lists are equal, whatever the parts hold (K56). Parts keep their text, so that
 * explain and the journal stay readable. Lengths count UTF-16 code units; nothing is normalised (K65).
 */
export function frame(parts: readonly string[]): string {
  return parts.map((part) => `${part.length}:${part},`).join("");
}

/** Id of something a client named (task, workflow, agent), inside its tenant: one name under two keys is two things. */
export function scopedId(tenant: string, name: string): string {
  return frame([tenant, name]);
}

export interface TamedId {
  readonly id: string;
  readonly hashed: boolean;
}

/** An id of 1 to 256 printable code points stays as it is; any other becomes `sha256-<hex>` of its UTF-16 code units. */
export function tameId(id: string): TamedId {
  if (TEXT_PATTERN.test(id)) return { id, hashed: false };
  return { id: `sha256-${createHash("sha256").update(Buffer.from(id, "utf16le")).digest("hex")}`, hashed: true };
}

/** The task id a client writes in a path or a body, as `CallIdentity.task` has it. */
export function scopedTaskId(tenant: string, taskId: string): string {
  return scopedId(tenant, tameId(taskId).id);
}

/** Warnings travel in a response header: printable ASCII, at most 200 characters. */
export function headerSafe(text: string): string {
  const ascii = text.replaceAll(/[^\u0020-\u007e]/g, "?");
  return ascii.length > 200 ? `${ascii.slice(0, 197)}...` : ascii;
}
