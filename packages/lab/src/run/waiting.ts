import type { CallResult, SimAgent } from "@topas/sim";

export interface Waiting {
  /**
   * Share of the instants at which a call became ready or finished and after which a ready call still waited longer than a step.
   * Low: nothing competed, so a difference between policies is noise. The same measure for every scheduler, stock ones too.
   */
  readonly contendedShare: number;
  /** Time mean over the run of the tokens of prefixes with an admitted call, over the budget. */
  readonly pinnedShare: number;
  /** Share of time with 0, 1, 2, ... such prefixes. Between preemption and resumption a call counts as admitted. */
  readonly pinnedPrefixShare: readonly number[];
}

/** Longer than a decode step, shorter than anything a user would notice. */
const STEP_SECONDS = 0.25;

interface Change {
  readonly at: number;
  readonly waiting: -1 | 0 | 1;
  readonly running: -1 | 0 | 1;
  readonly agent: string;
  readonly decides: boolean;
}

type Call = Pick<CallResult, "agent" | "readySeconds" | "admittedSeconds" | "finishedSeconds">;

export function waitingOf(
  calls: readonly Call[],
  agents: readonly SimAgent[],
  budgetTokens: number,
  stepSeconds = STEP_SECONDS,
): Waiting {
  const prefixes = new Map(agents.map(({ name, prefixTokens }) => [name, prefixTokens]));
  const changes = calls.flatMap(({ agent, readySeconds, admittedSeconds, finishedSeconds }): Change[] => {
    const late = admittedSeconds - readySeconds > stepSeconds;
    return [
      { at: readySeconds, waiting: late ? 1 : 0, running: 0, agent, decides: true },
      { at: admittedSeconds, waiting: late ? -1 : 0, running: 1, agent, decides: false },
      { at: finishedSeconds, waiting: 0, running: -1, agent, decides: true },
    ];
  });
  changes.sort((a, b) => a.at - b.at || b.running - a.running);
  const running = new Map<string, number>();
  const byCount: number[] = [];
  let [waiting, pinned, pinnedTokens, instants, contended, area] = [0, 0, 0, 0, 0, 0];
  let last = changes[0]?.at ?? 0;
  const start = last;
  for (let i = 0; i < changes.length;) {
    const { at } = changes[i]!;
    byCount[pinned] = (byCount[pinned] ?? 0) + at - last;
    area += pinnedTokens * (at - last);
    last = at;
    let decides = false;
    for (; changes[i]?.at === at; i++) {
      const change = changes[i]!;
      waiting += change.waiting;
      decides ||= change.decides;
      if (change.running === 0) continue;
      const before = running.get(change.agent) ?? 0;
      running.set(change.agent, before + change.running);
      const tokens = prefixes.get(change.agent) ?? 0;
      const turned = before === 0 ? 1 : before + change.running === 0 ? -1 : 0;
      if (tokens === 0) continue;
      pinned += turned;
      pinnedTokens += turned * tokens;
    }
    if (!decides) continue;
    instants += 1;
    if (waiting > 0) contended += 1;
  }
  const span = Math.max(last - start, Number.MIN_VALUE);
  return {
    contendedShare: instants === 0 ? 0 : contended / instants,
    pinnedShare: area / (span * budgetTokens),
    pinnedPrefixShare: Array.from(byCount, (seconds) => (seconds ?? 0) / span),
  };
}
