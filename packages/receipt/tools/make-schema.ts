/** Writes `schema/receipt.v1.json`. Run by `npm run -w @topas/receipt schema`. */
import { writeFileSync } from "node:fs";
import { receiptJsonSchema } from "../src/json-schema.ts";

writeFileSync(new URL("../schema/receipt.v1.json", import.meta.url), `${JSON.stringify(receiptJsonSchema(), null, 2)}\n`);
