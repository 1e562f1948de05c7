import { historyOf } from "../history.ts";
import type { State } from "../state.ts";
import { costTokens, type View } from "../view.ts";
import type { AllOptions } from "./baseline-options.ts";
import type { Policy } from "./policy.ts";
import type { MakePolicy } from "./recipe.ts";

export type Arm = "fcfs-o" | "srpt-w-age-o" | "search";

/** What the router looks at (algorithm 4.16). */
export interface Regime {
  /** c: share of recent decisions that left something waiting. */
  readonly contention: number;
  /** v: share of stages whose agent the same task uses more than once. */
  readonly reuse: number;
  /** k: active prefix tokens / B. */
  readonly prefixShare: number;
  readonly hostTier: boolean;
}

/** c < 0.1: fcfs-o; else v < 0.2 and (host tier or k < 0.5): srpt-w-age-o; else the search. */
export function armFor(regime: Regime, options: AllOptions): Arm {
  if (regime.contention < options.routerContention) return "fcfs-o";
  const little = regime.hostTier || regime.prefixShare < options.routerPrefixShare;
  return regime.reuse < options.routerReuse && little ? "srpt-w-age-o" : "search";
}

/** The arm after a log of contended flags: it changes once `window` decisions in a row ask for the same other one. */
export function settledArm(contended: readonly number[], regime: Omit<Regime, "contention">, options: AllOptions): Arm {
  const window = options.routerWindow;
  let sum = 0;
  let arm: Arm | null = null;
  let next: Arm | null = null;
  let agreed = 0;
  contended.forEach((flag, i) => {
    sum += flag - (contended[i - window] ?? 0);
    const asked = armFor({ ...regime, contention: sum / Math.min(window, i + 1) }, options);
    if (arm === null || asked === arm) {
      arm ??= asked;
      next = null;
      return;
    }
    agreed = asked === next ? agreed + 1 : 1;
    next = asked;
    if (agreed >= window) arm = asked;
  });
  return arm ?? "fcfs-o";
}

/** The policy that decides a view in the router's place; null: its own parts, the joint search. */
export function routerArm(options: AllOptions, make: MakePolicy): (view: View) => Policy | null {
  const arms = {
    "fcfs-o": make("fcfs-o"),
    "srpt-w-age-o": make("srpt-w-age-o"),
    search: options.routerArm === "topas" ? null : make(options.routerArm),
  };
  return (view) => arms[settledArm(contendedLog(view), regimeOf(view), options)];
}

/** Without a history: only whether everything fits right now. */
function contendedLog(view: View): readonly number[] {
  const history = historyOf(view.state);
  if (history !== null) return history.contended;
  return [view.waiting.some((request) => costTokens(view, request) > view.roomTokens) ? 1 : 0];
}

function regimeOf(view: View): Omit<Regime, "contention"> {
  const { state } = view;
  const budget = state.ledger.budgetTokens;
  let active = 0;
  for (const entry of state.entries.values()) if (entry.kind === "prefix" && entry.refs > 0) active += entry.tokens;
  return { reuse: repeatedShare(state), prefixShare: budget === null ? 0 : active / budget, hostTier: state.config.hostTier };
}

/** Of the completed stages of live tasks, those whose agent has another stage or more than one round in the same task. */
function repeatedShare(state: State): number {
  let done = 0;
  let repeated = 0;
  for (const task of state.tasks.values()) {
    const uses = new Map<string, number>();
    for (const { agent, rounds } of task.stages.values()) uses.set(agent, (uses.get(agent) ?? 0) + Math.max(1, rounds));
    for (const stage of task.stages.values()) {
      if (stage.status !== "done") continue;
      done += 1;
      if (uses.get(stage.agent)! > 1) repeated += 1;
    }
  }
  return done === 0 ? 0 : repeated / done;
}
