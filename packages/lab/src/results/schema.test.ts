import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { resultsSchema } from "./file.ts";

const path = new URL("../../schema/results.v1.json", import.meta.url);

/** `UPDATE_SCHEMA=1 npx vitest run packages/lab` writes the file. */
it("the published schema is the one results are checked with", () => {
  const schema = JSON.parse(JSON.stringify(resultsSchema())) as unknown;
  if (process.env["UPDATE_SCHEMA"] === "1") writeFileSync(path, `${JSON.stringify(schema, null, 2)}\n`);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual(schema);
});
