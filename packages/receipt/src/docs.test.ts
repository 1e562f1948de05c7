import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { RECEIPT_CODES } from "./codes.ts";
import { decodeReceiptHeader } from "./decode.ts";
import { DROP_ORDER } from "./encode.ts";
import { parseGraph, parseReceipt } from "./parse.ts";
import { Receipt } from "./v1/receipt.ts";

const page = readFileSync(new URL("../../../docs/receipt.md", import.meta.url), "utf8");

describe("docs/receipt.md", () => {
  it("lists every code with its meaning, and every member", () => {
    for (const [code, meaning] of Object.entries(RECEIPT_CODES)) {
      expect(page.replaceAll("`", "")).toContain(`| ${code} | ${meaning.replaceAll("`", "")} |`);
    }
    const table = page.slice(page.indexOf("## What the members mean"), page.indexOf("An **estimate**"));
    for (const name of Object.keys(Receipt.shape)) expect(table).toContain(`\`${name}\``);
    expect(page.replaceAll(/\s+/g, " ")).toContain(DROP_ORDER.map((name) => `\`${name}\``).join(", "));
  });

  it("its examples are valid", () => {
    const blocks = Array.from(page.matchAll(/```json\n([\s\S]*?)```/g), ([, text]) => JSON.parse(text ?? "") as object);
    expect(blocks).toHaveLength(2);
    for (const block of blocks) expect("spec" in block ? parseReceipt(block) : parseGraph(block)).toMatchObject({ ok: true });
    const header = /printf '%s' '([^']+)'/.exec(page)?.[1] ?? "";
    expect(decodeReceiptHeader(btoa(header).replaceAll("=", ""))).toMatchObject({ ok: true });
    const body = JSON.parse(/-d '(\{\s+"model"[^']+)'/.exec(page)?.[1] ?? "") as { topas: unknown };
    expect(parseReceipt(body.topas)).toMatchObject({ ok: true });
  });
});
