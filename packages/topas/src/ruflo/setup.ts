import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { UsageError } from "../friendly.ts";
import { tarballName, type Pin } from "./pins.ts";
import type { Run } from "./run-command.ts";

/** Written last: a folder without it was not set up to the end. `tree` is sha256 over the names, versions and hashes installed. */
export interface SetupManifest {
  readonly spec: "topas.ruflo/1";
  readonly packages: readonly Pick<Pin, "name" | "version" | "integrity">[];
  readonly tree: string;
  readonly installed: number;
}

export interface SetupResult {
  readonly folder: string;
  readonly manifest: SetupManifest;
  readonly already: boolean;
}

export interface SetupOptions {
  readonly folder: string;
  readonly pins: readonly Pin[];
  readonly run: Run;
  readonly say?: (line: string) => void;
}

const INSTALL = ["--save-exact", "--no-package-lock", "--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"] as const;
const LOCK = join("v3", "node_modules", ".package-lock.json");

/**
 * Fetches the pinned packages into `folder`: tarballs first, each compared with its sha512 before anything is unpacked or
 * installed, install scripts never run. A second time nothing is fetched. @throws UsageError with what to do
 */
export async function setupRuflo({ folder: given, pins, run, say = () => undefined }: SetupOptions): Promise<SetupResult> {
  const folder = resolve(given);
  const known = await readSetup(folder, pins);
  if (known !== null) return { folder, manifest: known, already: true };

  const tarballs = join(folder, "tarballs");
  await mkdir(tarballs, { recursive: true });
  await rm(join(folder, "manifest.json"), { force: true });
  for (const pin of pins) await fetchVerified(pin, tarballs, run, say);

  for (const use of ["v2", "v3"] as const) {
    const files = pins.filter((pin) => pin.use === use).map((pin) => join(tarballs, tarballName(pin)));
    const fresh = join(folder, `${use}.partial`);
    await rm(fresh, { recursive: true, force: true });
    await mkdir(fresh);
    say(use === "v2" ? "unpacking the v2 executor" : "installing the v3 engine (about 40 s, 133 MB)");
    if (use === "v2") for (const file of files) await must(run("tar", ["xzf", file], fresh), "tar could not unpack the package");
    else {
      await writeFile(join(fresh, "package.json"), `${JSON.stringify({ private: true })}\n`);
      await must(run("npm", ["install", ...INSTALL, ...files], fresh), "npm could not install the v3 engine");
    }
    await rm(join(folder, use), { recursive: true, force: true });
    await rename(fresh, join(folder, use));
  }

  const lock = await readLock(folder);
  for (const pin of pins.filter(({ use }) => use === "v3")) checkInstalled(pin, lock);
  const manifest: SetupManifest = {
    spec: "topas.ruflo/1",
    packages: pins.map(({ name, version, integrity }) => ({ name, version, integrity })),
    ...treeOf(lock),
  };
  await writeFile(join(folder, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  return { folder, manifest, already: false };
}

/** What an earlier setup left; null: nothing, something else, or no longer what it was. */
export async function readSetup(folder: string, pins: readonly Pin[]): Promise<SetupManifest | null> {
  try {
    const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as SetupManifest;
    const same = pins.every((pin) =>
      manifest.packages.some((one) => one.name === pin.name && one.version === pin.version && one.integrity === pin.integrity),
    );
    const lock = await readLock(folder);
    for (const pin of pins.filter(({ use }) => use === "v3")) checkInstalled(pin, lock);
    return same && existsSync(join(folder, "v2", "package")) && treeOf(lock).tree === manifest.tree ? manifest : null;
  } catch {
    return null;
  }
}

async function fetchVerified(pin: Pin, tarballs: string, run: Run, say: (line: string) => void): Promise<void> {
  const file = join(tarballs, tarballName(pin));
  if (existsSync(file) && (await integrityOf(file)) === pin.integrity) return;
  const name = `${pin.name}@${pin.version}`;
  say(`fetching ${name}`);
  await must(
    run("npm", ["pack", name, "--ignore-scripts"], tarballs),
    `npm could not fetch ${name}: check the network and the registry (npm config get registry)`,
  );
  const got = existsSync(file) ? await integrityOf(file) : "nothing";
  if (got === pin.integrity) return;
  await rm(file, { force: true });
  throw new UsageError(
    `${name} is not the package that was pinned and was not unpacked: expected ${pin.integrity}, got ${got}. ` +
      `The registry delivers other bytes; try another one (npm config set registry …)`,
  );
}

async function integrityOf(file: string): Promise<string> {
  return `sha512-${createHash("sha512")
    .update(await readFile(file))
    .digest("base64")}`;
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

async function readLock(folder: string): Promise<Lock> {
  return JSON.parse(await readFile(join(folder, LOCK), "utf8")) as Lock;
}

function checkInstalled({ name, version, integrity }: Pin, lock: Lock): void {
  const found = lock.packages[`node_modules/${name}`];
  if (found?.version === version && found.integrity === integrity) return;
  throw new UsageError(
    `npm installed ${name} ${found?.version ?? "(nothing)"} with ${found?.integrity ?? "no hash"} instead of ${version} with ${integrity}: remove the folder and run setup again`,
  );
}

/** The versions below the pinned packages float: their digest belongs beside every result. */
function treeOf(lock: Lock): { readonly tree: string; readonly installed: number } {
  const lines = Object.entries(lock.packages)
    .map(([path, { version = "", integrity = "" }]) => `${path} ${version} ${integrity}`)
    .toSorted();
  const hash = createHash("sha256").update(lines.join("\n")).digest("hex");
  return { tree: `sha256:${hash}`, installed: lines.length };
}

async function must(running: ReturnType<Run>, message: string): Promise<void> {
  const { code, output } = await running;
  if (code !== 0) throw new UsageError(`${message}\n${output.trim().split("\n").slice(-5).join("\n")}`);
}
