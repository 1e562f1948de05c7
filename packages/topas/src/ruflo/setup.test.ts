import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { UsageError } from "../friendly.ts";
import { shellExports } from "./environment.ts";
import { PINS, tarballName, type Pin } from "./pins.ts";
import type { Run } from "./run-command.ts";
import { readSetup, setupRuflo } from "./setup.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "topas-setup-test-"));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const sha512 = (text: string): string => `sha512-${createHash("sha512").update(text).digest("base64")}`;
const pin = (name: string, use: Pin["use"]): Pin => ({ name, version: "1.2.3", integrity: sha512(`bytes of ${name}`), use });
const pins = [pin("ruflo", "v3"), pin("@claude-flow/cli", "v3"), pin("claude-flow", "v2")];

interface Registry {
  /** What `npm pack` writes instead of the pinned bytes. */
  readonly delivers?: Readonly<Record<string, string>>;
  readonly offline?: boolean;
  /** What npm notes of a package it has installed. */
  readonly installs?: Readonly<Record<string, string>>;
}

/** npm and tar as far as setup sees them: they write the files that the real ones write. */
function commands({ delivers = {}, offline = false, installs = {} }: Registry = {}): {
  readonly run: Run;
  readonly ran: string[];
} {
  const ran: string[] = [];
  const run: Run = async (command, args, cwd) => {
    ran.push([command, args[0]].join(" "));
    if (offline) return { code: 1, output: "npm error code ENOTFOUND" };
    const [verb, spec = ""] = args;
    if (verb === "pack") {
      const wanted = pins.find(({ name, version }) => spec === `${name}@${version}`)!;
      writeFileSync(join(cwd, tarballName(wanted)), delivers[wanted.name] ?? `bytes of ${wanted.name}`);
    }
    if (verb === "xzf") mkdirSync(join(cwd, "package"));
    if (verb === "install") {
      expect(args).toEqual(expect.arrayContaining(["--ignore-scripts", "--omit=optional", "--no-package-lock"]));
      mkdirSync(join(cwd, "node_modules"));
      const packages = Object.fromEntries(
        pins
          .filter(({ use }) => use === "v3")
          .map(({ name, version, integrity }) => [`node_modules/${name}`, { version, integrity: installs[name] ?? integrity }]),
      );
      writeFileSync(join(cwd, "node_modules", ".package-lock.json"), JSON.stringify({ packages }));
    }
    return { code: 0, output: "" };
  };
  return { run, ran };
}

describe("topas ruflo setup", () => {
  it("fetches, verifies, installs and writes down what it installed; a second time nothing runs", async () => {
    const folder = join(home, "ruflo");
    const first = commands();
    const done = await setupRuflo({ folder, pins, run: first.run });
    expect(first.ran).toEqual(["npm pack", "npm pack", "npm pack", "tar xzf", "npm install"]);
    expect(done).toMatchObject({ already: false, manifest: { spec: "topas.ruflo/1", installed: 2 } });
    expect(done.manifest.tree).toMatch(/^sha256:[0-9a-f]{64}$/);

    const second = commands();
    expect(await setupRuflo({ folder, pins, run: second.run })).toEqual({ ...done, already: true });
    expect(second.ran).toEqual([]);
  });

  it("other bytes than the pinned ones are refused before anything is unpacked or installed", async () => {
    const { run, ran } = commands({ delivers: { "claude-flow": "something else" } });
    const failure = await setupRuflo({ folder: home, pins, run }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(UsageError);
    expect((failure as Error).message).toContain(`expected ${pins[2]!.integrity}, got ${sha512("something else")}`);
    expect(ran).toEqual(["npm pack", "npm pack", "npm pack"]);
    expect(existsSync(join(home, "tarballs", "claude-flow-1.2.3.tgz"))).toBe(false);
    expect(existsSync(join(home, "manifest.json"))).toBe(false);
  });

  it("without a network it says so, and goes on later from what is there", async () => {
    await expect(setupRuflo({ folder: home, pins, run: commands({ offline: true }).run })).rejects.toThrow(
      /could not fetch ruflo@1\.2\.3: check the network and the registry.*\n.*ENOTFOUND/,
    );
    await setupRuflo({ folder: home, pins, run: commands().run });
    rmSync(join(home, "manifest.json"));
    const again = commands();
    await setupRuflo({ folder: home, pins, run: again.run });
    expect(again.ran).toEqual(["tar xzf", "npm install"]);
  });

  it("what npm installed must be what was verified, and stay so", async () => {
    const { run } = commands({ installs: { "@claude-flow/cli": sha512("swapped") } });
    await expect(setupRuflo({ folder: home, pins, run })).rejects.toThrow("npm installed @claude-flow/cli 1.2.3");
    await setupRuflo({ folder: home, pins, run: commands().run });
    expect(await readSetup(home, pins)).not.toBeNull();
    expect(await readSetup(home, [{ ...pins[0]!, version: "9.9.9" }])).toBeNull();
    const lock = join(home, "v3", "node_modules", ".package-lock.json");
    writeFileSync(
      lock,
      readFileSync(lock, "utf8").replace('{"packages":{', '{"packages":{"node_modules/guest":{"version":"1.0.0"},'),
    );
    expect(await readSetup(home, pins)).toBeNull();
  });

  it("pins are whole sha512 values, and file names those of npm", () => {
    for (const { integrity } of PINS) expect(Buffer.from(integrity.replace("sha512-", ""), "base64").length).toBe(64);
    expect(PINS.map(tarballName)).toEqual(["ruflo-3.42.5.tgz", "claude-flow-cli-3.42.5.tgz", "claude-flow-2.7.47.tgz"]);
  });

  it("exports survive a shell", () => {
    expect(shellExports({ A: "it's", B: "x y" })).toBe("export A='it'\\''s'\nexport B='x y'");
  });
});
