import { createHash } from "node:crypto";
import { playPlain, type PlainTasks } from "./plain-player.ts";
import type { LiveWorkload } from "./types.ts";

/** Tasks as a live workload of the plain player: no orchestrator, lengths enforced. */
export function plainWorkload(name: string, plain: PlainTasks, notes: readonly string[]): LiveWorkload {
  const rounds = new Map(plain.tasks.flatMap(({ id, stages }) => stages.map((stage) => [`${id}/${stage.id}`, stage.rounds])));
  return {
    name,
    orchestrator: "plain player of this package",
    jobs: plain.tasks.map(({ id, arrivalSeconds, stages }) => ({
      id,
      class: "workflow" as const,
      arrivalSeconds,
      calls: stages.reduce((sum, stage) => sum + stage.rounds.length, 0),
    })),
    inputs: fingerprint(plain),
    notes,
    outputTokens: (job, stage, visit) => rounds.get(`${job}/${stage}`)?.[visit]?.outputTokens ?? null,
    play: (context) => playPlain(plain, context),
  };
}

export function fingerprint(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 16);
}
