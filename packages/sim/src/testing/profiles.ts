import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseProfile, type Profile } from "../model/profile.ts";

export function readProfile(name: string): Profile {
  return parseProfile(readJson(`../../profiles/${name}.json`));
}

export function readJson(relative: string): unknown {
  return JSON.parse(readFileSync(fileURLToPath(new URL(relative, import.meta.url)), "utf8"));
}
