import type { TaskHints } from "../events.ts";
import { count, type State } from "../state.ts";

/** Longest time any hint may speak of, seconds (about four months), and most tokens. */
const MOST_SECONDS = 1e7;
const MOST_TOKENS = 1e8;
/** A tool wait that is said to end later than this from now is not believed, seconds. */
const LONGEST_WAIT_SECONDS = 86_400;

type NumberHint = Exclude<keyof TaskHints, "readyStages">;
const LIMITS: Record<NumberHint, number> = {
  remainingPathSeconds: MOST_SECONDS,
  remainingWorkSeconds: MOST_SECONDS,
  expectedOutputTokens: MOST_TOKENS,
  reserveTokens: MOST_TOKENS,
  nearTermReuse: 1_000,
  toolWaitEndSeconds: Infinity,
};

/** Hints without what cannot be: refused, clamped and contradictory values are counted, never an error (algorithm 2.3). */
export function cleanHints(state: State, hints: TaskHints): TaskHints {
  const clean: { -readonly [K in keyof TaskHints]: TaskHints[K] } = {};
  for (const name of Object.keys(LIMITS) as NumberHint[]) {
    const value: unknown = hints[name];
    if (value === undefined) continue;
    const late = name === "toolWaitEndSeconds" && Number(value) > state.nowSeconds + LONGEST_WAIT_SECONDS;
    if (typeof value !== "number" || !Number.isFinite(value) || value < 0 || late) count(state, "hintsRefused");
    else {
      if (value > LIMITS[name]) count(state, "hintsClamped");
      clean[name] = Math.min(value, LIMITS[name]);
    }
  }
  const ready: unknown = hints.readyStages;
  if (Array.isArray(ready)) clean.readyStages = ready.filter((id) => typeof id === "string");
  else if (ready !== undefined) count(state, "hintsRefused");

  const { remainingPathSeconds: path, remainingWorkSeconds: work } = clean;
  if (path !== undefined && work !== undefined && path > work) {
    count(state, "hintsContradictory");
    clean.remainingPathSeconds = work;
  }
  return clean;
}
