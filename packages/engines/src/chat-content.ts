/** What every engine that counts tokens itself accepts as chat messages: text, and nothing it would silently drop. */
import { EngineError } from "./engine.ts";
import type { ChatMessage } from "./engine.ts";

/**
 * Text of a message's content: a string, or an array of `{type: "text", text}`. Absent and null stay null (an assistant's tool call).
 * @throws EngineError `unsupported_content` (400) for images, audio and any other part.
 */
export function contentText(content: unknown): string | null {
  if (typeof content === "string") return content;
  if (content === undefined || content === null) return null;
  if (!Array.isArray(content)) throw unsupported(typeof content);
  return content
    .map((part: unknown) => {
      if (typeof part !== "object" || part === null) throw unsupported(typeof part);
      const { type, text } = part as { type?: unknown; text?: unknown };
      if (type !== "text" || typeof text !== "string") throw unsupported(String(type));
      return text;
    })
    .join("");
}

function unsupported(type: string): EngineError {
  return new EngineError("unsupported_content", `content of type "${type}" is not supported by this engine; send text`, 400);
}

export const isSystem = (message: ChatMessage): boolean => message.role === "system" || message.role === "developer";

/** Number of leading system and developer messages: with the tools, the part calls of one agent share. */
export function leadingSystem(messages: readonly ChatMessage[]): number {
  const first = messages.findIndex((message) => !isSystem(message));
  return first === -1 ? messages.length : first;
}
