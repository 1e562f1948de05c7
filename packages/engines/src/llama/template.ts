/**
 * Chat templates, rendered so that message text can never become control tokens: every content is rendered once as a placeholder
 * nobody can guess, and the text between placeholders is the template's own. A second rendering with the real contents must agree (but
 * for trimming), else the template rewrites contents and its text is used whole, which needs them free of control tokens.
 */
import { randomBytes } from "node:crypto";
import { contentText } from "../chat-content.ts";
import type { ChatMessage } from "../engine.ts";
import { EngineError } from "../engine.ts";

/** `literal`: tokenise as plain text. Otherwise it was written by the template, and control tokens in it are meant. */
export interface Piece {
  readonly literal: boolean;
  readonly text: string;
}

export interface Rendering {
  readonly pieces: readonly Piece[];
  /** The template changed contents: `pieces` is one whole text, and the caller has to refuse contents with control tokens. */
  readonly whole: boolean;
}

export interface ChatTemplate {
  /** @throws EngineError `template_failed` (400) when the template raises, `unsupported_content` (400) for non-text contents. */
  render(messages: readonly ChatMessage[], tools: readonly unknown[] | undefined): Rendering;
}

/** Loads the Jinja interpreter on first use. Rejects with `template_invalid` when it is not installed or cannot parse `source`. */
export async function loadChatTemplate(
  source: string,
  tokens: { readonly bos: string; readonly eos: string },
): Promise<ChatTemplate> {
  let template: { render(items: Record<string, unknown>): string };
  try {
    const { Template } = await import("@huggingface/jinja");
    template = new Template(source);
  } catch (cause) {
    const missing = (cause as { code?: unknown }).code === "ERR_MODULE_NOT_FOUND";
    const message = missing ? "chat templates need the package @huggingface/jinja" : "the model's chat template cannot be parsed";
    throw new EngineError("template_invalid", message, 500, { cause });
  }
  const mark = `\u{e000}${randomBytes(9).toString("base64url")}:`;
  const placeholders = new RegExp(`${mark}(\\d+)\u{e001}`, "u");

  const run = (messages: readonly ChatMessage[], tools: readonly unknown[] | undefined): string => {
    try {
      return template.render({
        messages,
        tools: tools !== undefined && tools.length > 0 ? tools : undefined,
        add_generation_prompt: true,
        bos_token: tokens.bos,
        eos_token: tokens.eos,
      });
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new EngineError("template_failed", `the model's chat template refuses these messages: ${why}`, 400, { cause });
    }
  };

  return {
    render(messages, tools) {
      const contents = messages.map((message) => contentText(message.content));
      const withContents = (content: (text: string, index: number) => string): ChatMessage[] =>
        messages.map((message, index) => {
          const text = contents[index] ?? null;
          return { ...message, content: text === null || text === "" ? text : content(text, index) };
        });
      const real = run(
        withContents((text) => text),
        tools,
      );
      const marked = run(
        withContents((_, index) => `${mark}${index}\u{e001}`),
        tools,
      ).split(placeholders);
      const pieces = align(
        marked.map((text, at) =>
          at % 2 === 0 ? { literal: false, text } : { literal: true, text: contents[Number(text)] ?? "" },
        ),
        real,
      );
      return pieces === null ? { pieces: [{ literal: false, text: real }], whole: true } : { pieces, whole: false };
    },
  };
}

/** Finds the pieces in the real text; a template may trim contents. null: it does more than that. */
function align(pieces: readonly Piece[], real: string): Piece[] | null {
  const found: Piece[] = [];
  let at = 0;
  for (const [index, { literal, text }] of pieces.entries()) {
    const next = pieces[index + 1]?.text ?? "";
    const shapes = literal ? [text, text.trim(), text.trimEnd(), text.trimStart()] : [text];
    const shape = shapes.find((candidate) => real.startsWith(literal ? candidate + next : candidate, at));
    if (shape === undefined) return null;
    found.push({ literal, text: shape });
    at += shape.length;
  }
  return at === real.length ? found : null;
}
