import { predecessors, type SimAgent, type SimTask } from "../task.ts";
import type { CallSpec } from "./call.ts";

/** One call of a task, ready to be sent. */
export interface TaskCall {
  readonly id: string;
  readonly task: SimTask;
  readonly stage: string;
  readonly agent: string;
  readonly round: number;
  readonly prefix: { readonly id: string; readonly tokens: number } | null;
  readonly ownPromptTokens: number;
  readonly maxTokens: number;
  /** Stages of several rounds keep one session; tokens of it that this prompt extends. */
  readonly session: { readonly id: string; readonly reusableTokens: number } | null;
  readonly spec: CallSpec;
  readonly readySeconds: number;
}

export interface TaskRecord {
  readonly task: SimTask;
  readonly arrivalSeconds: number;
  readonly doneSeconds: number;
}

export interface RunnerListener {
  arrived(task: SimTask, atSeconds: number): void;
  ready(call: TaskCall, atSeconds: number): void;
  stageOver(task: SimTask, stage: string, atSeconds: number): void;
  taskOver(record: TaskRecord): void;
  later(atSeconds: number, kind: "arrival" | "toolReturn", id: string, run: (atSeconds: number) => void): void;
}

interface OpenTask {
  readonly task: SimTask;
  /** Stages waited for, by stage; gone once the stage has started. */
  readonly blockedBy: Map<string, Set<string>>;
  stagesLeft: number;
}

/** Releases the calls of every task as its stages and tool waits allow. */
export class TaskRunner {
  private readonly agents: ReadonlyMap<string, SimAgent>;
  private readonly listener: RunnerListener;

  constructor(agents: readonly SimAgent[], listener: RunnerListener) {
    this.agents = new Map(agents.map((agent) => [agent.name, agent]));
    this.listener = listener;
  }

  add(task: SimTask): void {
    for (const stage of task.stages)
      if (!this.agents.has(stage.agent)) throw new RangeError(`task ${task.id}: agent ${stage.agent} is unknown`);
    this.listener.later(task.arrivalSeconds, "arrival", task.id, (at) => {
      const blockedBy = new Map([...predecessors(task)].map(([id, before]) => [id, new Set(before)]));
      const open: OpenTask = { task, blockedBy, stagesLeft: task.stages.length };
      this.listener.arrived(task, at);
      if (task.stages.length === 0) this.listener.taskOver({ task, arrivalSeconds: task.arrivalSeconds, doneSeconds: at });
      this.release(open, at);
    });
  }

  /** The call has its last token. */
  callDone(call: TaskCall, atSeconds: number): void {
    const open = this.open.get(call.id)!;
    this.open.delete(call.id);
    const stage = call.task.stages.find(({ id }) => id === call.stage)!;
    const wait = stage.rounds[call.round]!.toolWaitSeconds;
    const next = (at: number): void => {
      if (call.round + 1 < stage.rounds.length) this.send(open, call.stage, call.round + 1, at);
      else this.stageDone(open, call.stage, at);
    };
    if (wait > 0) this.listener.later(atSeconds + wait, "toolReturn", call.id, next);
    else next(atSeconds);
  }

  private readonly open = new Map<string, OpenTask>();

  private release(open: OpenTask, atSeconds: number): void {
    for (const { id } of open.task.stages) {
      if (open.blockedBy.get(id)?.size !== 0) continue;
      open.blockedBy.delete(id);
      this.send(open, id, 0, atSeconds);
    }
  }

  private stageDone(open: OpenTask, stage: string, atSeconds: number): void {
    const { task } = open;
    open.stagesLeft -= 1;
    for (const before of open.blockedBy.values()) before.delete(stage);
    this.listener.stageOver(task, stage, atSeconds);
    if (open.stagesLeft === 0) this.listener.taskOver({ task, arrivalSeconds: task.arrivalSeconds, doneSeconds: atSeconds });
    else this.release(open, atSeconds);
  }

  private send(open: OpenTask, stageId: string, round: number, atSeconds: number): void {
    const call = makeTaskCall(open.task, stageId, round, this.agents, atSeconds);
    if (call === null) return this.stageDone(open, stageId, atSeconds);
    this.open.set(call.id, open);
    this.listener.ready(call, atSeconds);
  }
}

/** Prompt = agent prefix + everything said in this stage so far + the fresh tokens of this round. null: no such round. */
export function makeTaskCall(
  task: SimTask,
  stageId: string,
  round: number,
  agents: ReadonlyMap<string, SimAgent>,
  readySeconds: number,
): TaskCall | null {
  const stage = task.stages.find(({ id }) => id === stageId)!;
  const now = stage.rounds[round];
  if (now === undefined) return null;
  const agent = agents.get(stage.agent)!;
  const key = `${task.id}/${stageId}`;
  let history = 0;
  for (const { promptTokens, outputTokens } of stage.rounds.slice(0, round)) history += promptTokens + outputTokens;
  const own = history + now.promptTokens;
  const id = `${key}/${round}`;
  const prefix = agent.prefixTokens > 0 ? { id: agent.name, tokens: agent.prefixTokens } : null;
  const maxTokens = Math.max(now.outputTokens, now.maxTokens ?? now.outputTokens);
  const segments = [{ stream: key, tokens: own }];
  if (prefix !== null) segments.unshift({ stream: `agent ${agent.name}`, tokens: prefix.tokens });
  return {
    id,
    task,
    stage: stageId,
    agent: stage.agent,
    round,
    prefix,
    ownPromptTokens: own,
    maxTokens,
    session: stage.rounds.length > 1 ? { id: key, reusableTokens: history } : null,
    spec: { id, segments, outputTokens: now.outputTokens, maxTokens },
    readySeconds,
  };
}
