import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Graph } from "@topas/core";
import { importJournal, linesOf, parseProfile, type JournalCall, type Profile, type SimAgent, type SimTask } from "@topas/sim";
import type { LiveRow } from "../presets/live.ts";
import type { LiveCell } from "./live-cell.ts";
import type { Recorded } from "./run-live-cell.ts";
import type { JobClass } from "./types.ts";

/** The work of one live cell, for the simulator: true lengths, prefixes, edges, waits and arrivals, and what the policy was told. */
export interface Shape {
  readonly schema: "topas.shapes/1";
  readonly workload: string;
  readonly table: string;
  readonly arrival: LiveRow["arrival"];
  readonly load: number;
  readonly ratePerSecond: number;
  readonly seed: number;
  readonly budgetTokens: number;
  readonly hostTierMib: number;
  readonly orchestrator: string;
  /** Whose run it was recorded in. */
  readonly recordedUnder: string;
  readonly agents: readonly SimAgent[];
  readonly tasks: readonly (SimTask & { readonly class: JobClass })[];
}

/**
 * Calls of unmarked prompts are left out. A stage that Ruflo's engines issue waits for its whole level, whatever edges it declares, so
 * there the order is taken from the times; the graph stays what the policy was told, except where a stage is visited again.
 */
export function shapeOf(cell: LiveCell, { calls, jobOf, graphs, jobs }: Recorded, orchestrator: string): Shape {
  const levels = orchestrator.startsWith("ruflo");
  const jobOfTask = new Map<string, string>();
  const lines = calls.flatMap((call): string[] => {
    const job = jobOf(call);
    if (job === null) return [];
    jobOfTask.set(job, call.task);
    const timed: JournalCall = { ...call, tenant: "", task: job, ...(levels ? { after: null } : {}) };
    return [JSON.stringify(timed)];
  });
  const { agents, tasks } = importJournal(lines);
  const classes = new Map(jobs.map((job) => [job.id, job.class]));
  const { row, seed, ratePerSecond, kvTokens, hostTierMib, arm } = cell;
  return {
    schema: "topas.shapes/1",
    workload: cell.workload,
    table: row.table,
    arrival: row.arrival,
    load: row.load,
    ratePerSecond: ratePerSecond ?? 0,
    seed,
    budgetTokens: kvTokens,
    hostTierMib,
    orchestrator,
    recordedUnder: arm.name,
    agents,
    tasks: tasks.map((task) => ({
      ...task,
      graph: graphFor(task, graphs.get(jobOfTask.get(task.id)!)),
      class: classes.get(task.id) ?? "workflow",
    })),
  };
}

/** The simulator knows an agent by its prefix, so the graph has to name it the same way. */
function graphFor(task: SimTask, graph: Graph | undefined): Graph | null {
  if (graph === undefined) return null;
  const known = new Map(task.stages.map(({ id, agent }) => [id, agent]));
  if (task.stages.some(({ id }) => !graph.stages.some((stage) => stage.id === id))) return null;
  return { ...graph, stages: graph.stages.map((stage) => ({ ...stage, agent: known.get(stage.id) ?? stage.agent })) };
}

/** Every seed and setting has one file: what it is, then a task a line. */
export function writeShape(folder: string, shape: Shape): void {
  mkdirSync(folder, { recursive: true });
  const { tasks, ...head } = shape;
  const lines = [head, ...tasks].map((each) => JSON.stringify(each));
  writeFileSync(join(folder, `${fileName(shape)}.jsonl`), `${lines.join("\n")}\n`);
}

const fileName = ({ workload, arrival, load, seed }: Shape): string =>
  `${workload}-${arrival}-load${load}-seed${seed}`.replaceAll(/[^\w.-]/g, "_");

/** In the order of their names; none where there is no such folder. @throws Error naming file and what is wrong. */
export function readShapes(folder: string): Shape[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .map((name) => {
      const [head, ...tasks] = linesOf(readFileSync(join(folder, name), "utf8")).filter((line) => line !== "");
      const shape = {
        ...(JSON.parse(head ?? "{}") as Shape),
        tasks: tasks.map((line) => JSON.parse(line) as Shape["tasks"][number]),
      };
      if (shape.schema !== "topas.shapes/1") throw new Error(`${join(folder, name)} is no topas.shapes/1 file`);
      return shape;
    });
}

/** The engine's cost model as it was after a seed's cells; 0: before the first. */
export function writeShapesProfile(folder: string, seed: number, profile: Profile): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(profileFile(folder, seed), `${JSON.stringify(profile, null, 1)}\n`);
}

/** The profiles before and after a seed's cells, those that there are; where there is neither, any of the folder. */
export function readShapesProfiles(folder: string, seed: number): readonly Profile[] {
  const read = (path: string): Profile => parseProfile(JSON.parse(readFileSync(path, "utf8")));
  const around = [seed - 1, seed].map((each) => profileFile(folder, each)).filter((path) => existsSync(path));
  if (around.length > 0) return around.map(read);
  const any = readdirSync(folder).find((name) => /^profile-\d+\.json$/.test(name));
  return any === undefined ? [] : [read(join(folder, any))];
}

const profileFile = (folder: string, seed: number): string => join(folder, `profile-${seed}.json`);
