import type { JournalCall } from "@topas/sim";
import type { MarkedCall } from "./exact-lengths.ts";

/**
 * Which job a line of the journal belongs to: by the marker of its prompt; a call that never reached the engine by its task, which is
 * that of calls whose job is known, or ends in the job's own name.
 */
export function jobsOfJournal(
  calls: readonly JournalCall[],
  markOf: (id: string) => MarkedCall | null,
  jobs: readonly { readonly id: string }[],
): (call: JournalCall) => string | null {
  const byTask = new Map<string, string>();
  for (const call of calls) {
    const mark = markOf(call.id);
    if (mark !== null) byTask.set(call.task, mark.job);
  }
  const ids = new Set(jobs.map(({ id }) => id));
  const named = new Map<string, string | null>();
  for (const { task } of calls) named.set(task, byTask.get(task) ?? lastPart(task, ids));
  return (call) => markOf(call.id)?.job ?? named.get(call.task) ?? null;
}

/** Tasks are length-framed inside their tenant: `7:default,5:job-1,`. */
function lastPart(task: string, ids: ReadonlySet<string>): string | null {
  const name = /,\d+:(.*),$/.exec(task)?.[1] ?? task;
  return ids.has(name) ? name : null;
}
