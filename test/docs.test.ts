import { readFileSync } from "node:fs";
import { errorCatalogue } from "@topas/gateway";
import { expect, it } from "vitest";

it("docs/http.md lists every error code with its status", () => {
  const page = readFileSync(new URL("../docs/http.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}) \|/gm)].map(([, code, status]) => [code, Number(status)]);
  expect(rows).toEqual(Object.entries(errorCatalogue).map(([code, row]) => [code, row.status]));
});
