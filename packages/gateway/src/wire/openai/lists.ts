import { z } from "zod";

export interface ItemFault {
  /** Member of the item; absent: the item itself. */
  readonly member?: string;
  readonly message: string;
}

/**
 * An array looked at up to its first fault. zod's own arrays keep one fault an item: a body of three million bad tokens would
 * cost seconds and gigabytes (K27).
 */
export function listOf<Item>(size: { readonly min: number; readonly max: number }, faultOf: (item: unknown) => ItemFault | null) {
  return z.custom<readonly Item[]>().superRefine((value, context) => {
    const refuse = (message: string, path: (string | number)[] = []): void => context.addIssue({ code: "custom", message, path });
    if (!Array.isArray(value)) return refuse("must be an array");
    if (value.length < size.min || value.length > size.max) {
      return refuse(
        size.max === Infinity ? `needs at least ${size.min}` : `takes ${size.min} to ${size.max} items, not ${value.length}`,
      );
    }
    for (let index = 0; index < value.length; index++) {
      const fault = faultOf(value[index]);
      if (fault !== null) return refuse(fault.message, fault.member === undefined ? [index] : [index, fault.member]);
    }
  });
}

export const textFault = (item: unknown): ItemFault | null =>
  typeof item === "string" && item !== "" ? null : { message: "must be a string that is not empty" };

export function isTokenList(value: unknown): value is number[] {
  return Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token) && token >= 0);
}
