import * as z from "zod";
import { Text, maybe } from "./text.ts";

/**
 * The part of the prompt shared by every call of an agent. `id` is the sender's name for it, best a hash over model, system
 * text and tools exactly as sent; `tokens` is null when the sender has no tokenizer. `stable: false` says that the text
 * changes from call to call (a clock at its head) and is not worth keeping.
 */
export const Prefix = z.object({
  id: Text,
  tokens: maybe(z.int().min(0).max(1_000_000_000)),
  stable: maybe(z.boolean()),
});
export type Prefix = z.infer<typeof Prefix>;
