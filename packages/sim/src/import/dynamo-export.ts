import { predecessors, type SimAgent, type SimTask } from "../task.ts";
import type { DynamoRow } from "./dynamo-row.ts";
import { HashBlocks } from "./hash-blocks.ts";

export interface DynamoExportOptions {
  readonly blockTokens?: number;
  /** Adds our own member with names, limits and per-call waits. */
  readonly extension?: boolean;
}

/**
 * Agentic Mooncake rows, one a call. The format puts waits in front of a call, so a stage after several others waits for the
 * longest of their tool waits; without the extension the wait of a task's last call and the agents' names are lost.
 */
export function* exportDynamo(
  agents: readonly SimAgent[],
  tasks: readonly SimTask[],
  options: DynamoExportOptions = {},
): Generator<string> {
  const { blockTokens = 64, extension = true } = options;
  const blocks = new HashBlocks(blockTokens);
  const prefixOf = new Map(agents.map((agent) => [agent.name, agent.prefixTokens]));
  for (const task of tasks) for (const row of taskRows(task, prefixOf, blocks, extension)) yield JSON.stringify(row);
}

function* taskRows(
  task: SimTask,
  prefixOf: ReadonlyMap<string, number>,
  blocks: HashBlocks,
  extension: boolean,
): Generator<DynamoRow> {
  const before = predecessors(task);
  const stageOf = new Map(task.stages.map((stage) => [stage.id, stage]));
  const idOf = (stage: string, round: number): string => `${task.id}/${stage}/${round}`;
  for (const stage of task.stages) {
    const prefixTokens = prefixOf.get(stage.agent) ?? 0;
    const lasts = before.get(stage.id)!.map((id) => ({ id, rounds: stageOf.get(id)!.rounds }));
    let history = 0;
    for (const [round, { promptTokens, outputTokens, maxTokens, toolWaitSeconds }] of stage.rounds.entries()) {
      const previous = stage.rounds[round - 1];
      const waitFor =
        previous === undefined ? lasts.map(({ id, rounds }) => idOf(id, rounds.length - 1)) : [idOf(stage.id, round - 1)];
      const waits =
        previous === undefined ? lasts.map(({ rounds }) => rounds.at(-1)!.toolWaitSeconds) : [previous.toolWaitSeconds];
      const waitMs = Math.max(0, ...waits) * 1000;
      const inputTokens = prefixTokens + history + promptTokens;
      yield {
        request_id: idOf(stage.id, round),
        session_id: task.id,
        input_length: inputTokens,
        output_length: outputTokens,
        hash_ids: blocks.of(stage.agent, prefixTokens, `${task.id}/${stage.id}`, inputTokens),
        ...(waitFor.length === 0 ? { timestamp: task.arrivalSeconds * 1000 } : {}),
        wait_for: waitFor,
        branches: [],
        ...(waitMs > 0 ? { tool_wait_ms: waitMs } : {}),
        tool_events: [],
        ...(extension
          ? {
              topas: {
                task: task.id,
                workflow: task.workflow,
                stage: stage.id,
                round,
                agent: stage.agent,
                prefixTokens,
                maxTokens: maxTokens ?? outputTokens,
                waitAfterMs: toolWaitSeconds * 1000,
                ...(task.tenant === undefined ? {} : { tenant: task.tenant }),
              },
            }
          : {}),
      };
      history += promptTokens + outputTokens;
    }
  }
}
