import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { parseProfile, serialiseProfile, type State } from "@topas/core";

type Profile = State["profile"];

/** Where learned lengths live between runs: one versioned file without prompts, texts or task ids (algorithm 2.10). */
export interface ProfileStore {
  /** undefined: nothing usable there; the reason has been told. */
  load(): Profile | undefined;
  /** At most once a minute; cheap otherwise. */
  save(profile: Profile, nowSeconds: number): void;
  flush(profile: Profile): void;
}

const SAVE_EVERY_SECONDS = 60;

/** A file that cannot be read or written is told to `warn` once and never stops anything. */
export function createProfileFile(path: string, warn: (message: string, data: object) => void): ProfileStore {
  let savedSeconds = Number.NEGATIVE_INFINITY;
  let warned = false;
  const flush = (profile: Profile): void => {
    try {
      mkdirSync(dirname(path), { recursive: true });
      const temporary = `${path}.${process.pid}.tmp`;
      writeFileSync(temporary, serialiseProfile(profile), { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      if (!warned) warn("the learned profile cannot be saved", { path, error: String(error) });
      warned = true;
    }
  };
  return {
    load() {
      let text: string;
      try {
        text = readFileSync(path, "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT")
          warn("the learned profile cannot be read: starting cold", { path, error: String(error) });
        return undefined;
      }
      const parsed = parseProfile(text);
      if (parsed.ok) return parsed.profile;
      warn("the learned profile is not usable: starting cold", { path, reason: parsed.reason });
      return undefined;
    },
    save(profile, nowSeconds) {
      if (nowSeconds - savedSeconds < SAVE_EVERY_SECONDS) return;
      // The first call only starts the minute: a process that has just begun has learned nothing.
      if (savedSeconds !== Number.NEGATIVE_INFINITY) flush(profile);
      savedSeconds = nowSeconds;
    },
    flush,
  };
}
