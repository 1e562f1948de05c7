import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseProfile, type Profile } from "../src/model/profile.ts";

/** A shipped profile, for tests and benches: the library itself takes profiles parsed. */
export function readProfile(name: string): Profile {
  return parseProfile(readJson(`../profiles/${name}.json`));
}

export function readJson(relative: string): unknown {
  return JSON.parse(readFileSync(fileURLToPath(new URL(relative, import.meta.url)), "utf8"));
}
