import * as z from "zod";
import { EstimateSource } from "./estimate.ts";
import { maybe } from "./text.ts";
import { Timestamp } from "./timestamp.ts";

/** Where the prefix of this call is. `unknown` is a value of its own: it is never written as zero or `absent`. */
export const Residency = z.object({
  state: z.enum(["resident", "host", "absent", "unknown"]),
  source: maybe(EstimateSource),
  asOf: maybe(Timestamp),
});
export type Residency = z.infer<typeof Residency>;
