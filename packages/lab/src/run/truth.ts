import type { CoreEvent, PolicyChanges, Speeds, State } from "@topas/core";
import { predecessors, type SimTask } from "@topas/sim";

export type Truth = NonNullable<PolicyChanges["truth"]>;

export interface Foreseen {
  readonly truth: Truth;
  readonly onEvent: (state: State, event: CoreEvent) => void;
}

interface Call {
  readonly outputTokens: number;
  readonly areaTokenSeconds: number;
  readonly seconds: number;
}

/**
 * What a clairvoyant reference is told: true outputs, remaining areas and paths (algorithm 4.19). Areas and seconds by the
 * formulas of the index (2.7) on true lengths; a call counts until it is over. When a prefix is used next is not known
 * before the schedule is: see `replayUses`.
 */
export function foresee(workload: { readonly tasks: readonly SimTask[] }, speeds: Speeds): Foreseen {
  const calls = new Map<string, Call>();
  for (const task of workload.tasks) for (const [id, call] of callsOf(task, speeds)) calls.set(id, call);
  const tasks = new Map(workload.tasks.map((task) => [task.id, task]));
  const done = new Set<string>();
  const sum = (task: SimTask, stage: SimTask["stages"][number], of: (call: Call) => number): number =>
    stage.rounds.reduce((total, _, round) => {
      const id = `${task.id}/${stage.id}/${round}`;
      return done.has(id) ? total : total + of(calls.get(id)!);
    }, 0);
  const truth: Truth = {
    outputTokens: ({ id }) => calls.get(id)?.outputTokens ?? null,
    remainingAreaTokenSeconds(id) {
      const task = tasks.get(id);
      if (task === undefined) return null;
      return task.stages.reduce((total, stage) => total + sum(task, stage, (call) => call.areaTokenSeconds), 0);
    },
    remainingPathSeconds(id) {
      const task = tasks.get(id);
      if (task === undefined) return null;
      return longest(task, (stage) => sum(task, stage, (call) => call.seconds));
    },
    nextUseSeconds: () => null,
  };
  return {
    truth,
    onEvent: (_, event) => {
      if (event.kind === "roundDone") done.add(event.request);
    },
  };
}

function* callsOf(task: SimTask, speeds: Speeds): Generator<readonly [string, Call]> {
  const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = speeds;
  for (const stage of task.stages) {
    let history = 0;
    for (const [round, { promptTokens, outputTokens: o }] of stage.rounds.entries()) {
      const q = history + promptTokens;
      const areaTokenSeconds = h * (q * o + (o * o) / 2) + p * q * q;
      yield [`${task.id}/${stage.id}/${round}`, { outputTokens: o, areaTokenSeconds, seconds: p * q + h * o }];
      history = q + o;
    }
  }
}

function longest(task: SimTask, secondsOf: (stage: SimTask["stages"][number]) => number): number {
  const before = predecessors(task);
  const stages = new Map(task.stages.map((stage) => [stage.id, stage]));
  const ends = new Map<string, number>();
  const endOf = (id: string): number => {
    const known = ends.get(id);
    if (known !== undefined) return known;
    const end = Math.max(0, ...before.get(id)!.map(endOf)) + secondsOf(stages.get(id)!);
    ends.set(id, end);
    return end;
  };
  return Math.max(0, ...task.stages.map(({ id }) => endOf(id)));
}
