import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** Where `topas ruflo setup` puts the published packages; `TOPAS_RUFLO` names another folder. */
const FOLDER = join(".topas", "ruflo");

/** Folder of the fetched packages, from the environment or from here upwards; null: not set up, or not to the end. */
export function rufloPackages(
  from: string = process.cwd(),
  named: string | undefined = process.env["TOPAS_RUFLO"],
): string | null {
  if (named !== undefined && named !== "") return isSetUp(resolve(named)) ? resolve(named) : null;
  for (let at = resolve(from); ; at = dirname(at)) {
    if (isSetUp(join(at, FOLDER))) return join(at, FOLDER);
    if (dirname(at) === at) return null;
  }
}

function isSetUp(folder: string): boolean {
  return existsSync(join(folder, "manifest.json")) && existsSync(v3Root(folder)) && existsSync(v2Executor(folder));
}

export function v3Root(packages: string): string {
  return join(packages, "v3", "node_modules", "@claude-flow", "cli");
}

export function v2Executor(packages: string): string {
  return join(packages, "v2", "package", "src", "cli", "simple-commands", "automation-executor.js");
}

/** A file of the v2 package. */
export function v2File(packages: string, path: string): string {
  return readFileSync(join(packages, "v2", "package", path), "utf8");
}

/** `ruflo 3.42.5, …; tree sha256:…`: for the notes of a run. */
export function packagesNote(packages: string): string {
  const manifest = JSON.parse(readFileSync(join(packages, "manifest.json"), "utf8")) as {
    readonly packages: readonly { readonly name: string; readonly version: string }[];
    readonly tree: string;
  };
  return `${manifest.packages.map(({ name, version }) => `${name} ${version}`).join(", ")}; tree ${manifest.tree}`;
}

/** Text of a shipped agent of the v2 package (`core/coder`), without its front matter: what an agent gets as system prompt. */
export function agentPrompt(packages: string, name: string): string {
  const text = v2File(packages, join(".claude", "agents", `${name}.md`));
  const end = text.startsWith("---\n") ? text.indexOf("\n---\n", 4) : -1;
  return (end < 0 ? text : text.slice(end + 5)).trim();
}

/** The first part of a text, cut at a blank: `factor` of its characters. */
export function shortened(text: string, factor: number): string {
  const head = text.slice(0, Math.max(1, Math.round(text.length * factor)));
  const blank = head.search(/\s\S*$/);
  return head.length === text.length || blank <= 0 ? head : head.slice(0, blank);
}
