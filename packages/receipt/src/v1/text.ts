import * as z from "zod";

/**
 * 1 to 256 code points without control characters, line and paragraph separators, direction overrides or lone surrogates.
 * Compared code unit by code unit and never normalised: composed and decomposed letters are different ids.
 * Every limit stands inside one pattern, because zod counts UTF-16 units where JSON Schema counts code points.
 */
// oxlint-disable-next-line no-control-regex -- naming what is not allowed is the purpose
export const TEXT_PATTERN = /^[^\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]{1,256}$/u;

export const Text = z.string().regex(TEXT_PATTERN);

/** Optional, and `null` means the same as leaving it out: orchestrators send null for what they cannot know. */
export function maybe<T extends z.ZodType>(schema: T): z.ZodOptional<z.ZodNullable<T>> {
  return schema.nullish();
}
