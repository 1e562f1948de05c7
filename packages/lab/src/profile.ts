import { readFileSync } from "node:fs";
import { parseProfile, type Profile } from "@topas/sim";

/** An engine profile that the simulator package ships; its folder lies beside this one in a checkout and when installed. */
export function readProfile(name: string): Profile {
  if (!/^[\w.-]+$/.test(name)) throw new RangeError(`profile name "${name}"`);
  return parseProfile(JSON.parse(readFileSync(new URL(`../../sim/profiles/${name}.json`, import.meta.url), "utf8")));
}
