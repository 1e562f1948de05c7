import type { Evict } from "../policy/policy.ts";

/** Least recently used leaves first: equal values, and ties go by last use. */
export const lru: Evict = {
  id: "lru",
  values: () => () => 0,
};
