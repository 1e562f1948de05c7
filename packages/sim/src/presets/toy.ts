/** Fig. 2 of TOPAS (arXiv 2608.25523): chain A -> B -> C, one prefix on the GPU at a time, calls of 4 units, setup 1 unit. */
const CHAIN = ["A", "B", "C"] as const;
const CALL_UNITS = 4;
const SETUP_UNITS = 1;
/** The caption gives no arrivals; these are the only ones that match the quoted means. */
const ARRIVALS = [0, 2] as const;

export interface ToyInterval {
  /** Agent and task, as in "A1". */
  readonly call: string;
  readonly start: number;
  readonly end: number;
}

export interface ToyRow {
  readonly policy: "srpt" | "lpm";
  readonly intervals: readonly ToyInterval[];
  readonly completions: readonly number[];
  readonly jct: readonly number[];
  readonly meanJct: number;
  readonly makespan: number;
  readonly setups: number;
  /** Mean the paper quotes. */
  readonly paperMeanJct: number;
}

/** Both schedules of the figure, cell by cell. Ties: arrival, then task. */
export function toy(): ToyRow[] {
  return [schedule("srpt", 21.5), schedule("lpm", 24)];
}

function schedule(policy: ToyRow["policy"], paperMeanJct: number): ToyRow {
  const next = ARRIVALS.map(() => 0);
  const completions: number[] = ARRIVALS.map(() => 0);
  const intervals: ToyInterval[] = [];
  let now = 0;
  let resident: string | null = null;
  let setups = 0;
  while (next.some((stage) => stage < CHAIN.length)) {
    const ready = ARRIVALS.map((_, task) => task).filter((task) => next[task]! < CHAIN.length && ARRIVALS[task]! <= now);
    if (ready.length === 0) {
      now = Math.min(...ARRIVALS.filter((_, task) => next[task]! < CHAIN.length));
      continue;
    }
    const key = (task: number): number =>
      policy === "srpt" ? CHAIN.length - next[task]! : CHAIN[next[task]!] === resident ? 0 : 1;
    const task = ready.toSorted((a, b) => key(a) - key(b) || ARRIVALS[a]! - ARRIVALS[b]! || a - b)[0]!;
    const agent: string = CHAIN[next[task]!]!;
    const setup = agent === resident ? 0 : SETUP_UNITS;
    if (setup > 0) setups += 1;
    resident = agent;
    intervals.push({ call: `${agent}${task + 1}`, start: now, end: now + setup + CALL_UNITS });
    now += setup + CALL_UNITS;
    next[task]! += 1;
    completions[task] = now;
  }
  const jct = completions.map((end, task) => end - ARRIVALS[task]!);
  const meanJct = jct.reduce((sum, one) => sum + one, 0) / jct.length;
  return { policy, intervals, completions, jct, meanJct, makespan: now, setups, paperMeanJct };
}
