import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const ROOT = new URL("../../../../", import.meta.url);
const rows = readFileSync(new URL("docs/cases.md", ROOT), "utf8")
  .split("\n")
  .filter((line) => /^\| K\d\d /.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()))
  .map(([, number, , where]) => ({ number: number!, where: where! }));

describe("docs/cases.md", () => {
  it("has one row for each of the 76 cases, in order, and says where or why not", () => {
    const numbers = Array.from({ length: 76 }, (_, i) => `K${String(i + 1).padStart(2, "0")}`);
    expect(rows.map(({ number }) => number)).toEqual(numbers);
    for (const { where } of rows) expect(where.length).toBeGreaterThan(3);
  });

  it("names only files that exist and hold a test of that number", () => {
    for (const { number, where } of rows)
      for (const [, file] of where.matchAll(/`([^`]+\.ts)`/g)) {
        const path = new URL(file!.startsWith("test/") ? file! : `packages/${file}`, ROOT);
        expect(existsSync(path), `${number}: ${file}`).toBe(true);
        expect(readFileSync(path, "utf8"), `${number}: ${file}`).toContain(number);
      }
  });
});
