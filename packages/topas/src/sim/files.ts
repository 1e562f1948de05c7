import { existsSync, readFileSync, readdirSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import type { CalibratedProfile } from "./calibrate.ts";
import { parseProfile, type Facts, type Profile } from "@topas/sim";

const FOLDER = new URL("../profiles/", import.meta.resolve("@topas/sim"));
const FACTS = "serving-points";

/** Names of the bundled engine profiles. */
export function profileNames(): string[] {
  return readdirSync(FOLDER)
    .map((file) => file.replace(/\.json$/, ""))
    .filter((name) => name !== FACTS);
}

/** A bundled profile by name, or a profile file of the user's. @throws Error naming the known ones. */
export function loadProfile(nameOrFile: string): Profile {
  const bundled = profileNames().includes(nameOrFile);
  if (!bundled && !existsSync(nameOrFile)) {
    throw new Error(`unknown profile "${nameOrFile}": a file, or one of ${profileNames().join(", ")}`);
  }
  return parseProfile(JSON.parse(readFileSync(bundled ? new URL(`${nameOrFile}.json`, FOLDER) : nameOrFile, "utf8")));
}

/** A profile file of `topas sim calibrate`. @throws Error when it does not say what a call costs outside the engine. */
export function loadCalibrated(file: string): CalibratedProfile {
  const profile = loadProfile(file);
  const { frontendMs } = profile as { readonly frontendMs?: unknown };
  if (typeof frontendMs !== "number") throw new Error(`${file} is no profile of topas sim calibrate: frontendMs is missing`);
  return { profile, frontendMs };
}

/** The bundled table of published measurements. */
export function loadFacts(): Facts {
  return JSON.parse(readFileSync(new URL(`${FACTS}.json`, FOLDER), "utf8")) as Facts;
}

/** A text file below `folder`, unpacked if it is there only as .gz; null when it is not there. */
export function readData(folder: string, path: string): string | null {
  const file = `${folder}/${path}`;
  if (existsSync(file)) return readFileSync(file, "utf8");
  return existsSync(`${file}.gz`) ? gunzipSync(readFileSync(`${file}.gz`)).toString("utf8") : null;
}
