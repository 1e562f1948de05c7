import type { SimAgent, SimRound, SimStage, SimTask } from "../task.ts";
import type { ReadRow } from "./dynamo.ts";
import { groupBy } from "./group.ts";
import { sharedPrefixes } from "./shared-prefix.ts";

interface Chain {
  readonly rows: ReadRow[];
}

/** Rows to tasks: connected rows are one task, rows that extend the one row they wait for are rounds of its stage. */
export function dynamoTasks(
  rows: readonly ReadRow[],
  blockTokens: number,
): { agents: SimAgent[]; tasks: SimTask[]; moved: number } {
  const chains = chainRows(rows, blockTokens);
  const chainOf = new Map(chains.flatMap((chain) => chain.rows.map((row) => [row.request_id, chain] as const)));
  const prefixes = sharedPrefixes(
    chains.map(({ rows: [first] }) => ({ hashIds: first!.hash_ids, inputTokens: first!.input_length })),
    blockTokens,
  );
  const agents = chains.map(({ rows: [first] }, i) =>
    first!.topas ? { name: first!.topas.agent, prefixTokens: first!.topas.prefixTokens } : prefixes[i]!,
  );
  const agentOf = new Map(chains.map((chain, i) => [chain, agents[i]!]));
  const waitAfter = waitsAfter(rows);
  let moved = 0;
  for (const row of rows) for (const id of row.wait_for) if (waitOf(row) > waitAfter.get(id)! + 1e-9) moved += 1;
  const roots = components(rows);
  const byTask = groupBy(chains, ({ rows: [first] }) => roots.get(first!.request_id)!);
  const tasks = [...byTask.values()].map((members): SimTask => {
    const first = members[0]!.rows[0]!;
    const arrivals = members.flatMap((chain) => chain.rows).filter((row) => row.wait_for.length === 0);
    const stages = members.map((chain): SimStage => {
      const before = [...new Set(chain.rows[0]!.wait_for.map((id) => stageId(chainOf.get(id)!)))];
      return {
        id: stageId(chain),
        agent: agentOf.get(chain)!.name,
        after: before,
        rounds: roundsOf(chain, agentOf.get(chain)!.prefixTokens, waitAfter),
      };
    });
    return {
      id: first.topas?.task ?? first.session_id ?? first.request_id,
      arrivalSeconds: Math.min(...arrivals.map((row) => row.timestamp ?? 0)) / 1000,
      workflow: first.topas?.workflow ?? null,
      ...(first.topas?.tenant === undefined ? {} : { tenant: first.topas.tenant }),
      graph: null,
      stages,
    };
  });
  return { agents, tasks, moved };
}

const waitOf = (row: ReadRow): number => row.delay! + row.tool_wait_ms!;

/** Shortest wait of the rows that depend on each. */
function waitsAfter(rows: readonly ReadRow[]): Map<string, number> {
  const out = new Map<string, number>();
  for (const row of rows) for (const id of row.wait_for) out.set(id, Math.min(out.get(id) ?? Infinity, waitOf(row)));
  return out;
}

function stageId(chain: Chain): string {
  const first = chain.rows[0]!;
  return first.topas?.stage ?? first.request_id;
}

function roundsOf(chain: Chain, prefixTokens: number, waitAfter: ReadonlyMap<string, number>): SimRound[] {
  let context = prefixTokens;
  return chain.rows.map((row) => {
    const promptTokens = Math.max(1, row.input_length - context);
    context += promptTokens + row.output_length;
    const waitMs = row.topas?.waitAfterMs ?? waitAfter.get(row.request_id) ?? 0;
    const limit = row.topas === null ? {} : { maxTokens: row.topas.maxTokens };
    return { promptTokens, outputTokens: row.output_length, ...limit, toolWaitSeconds: waitMs / 1000 };
  });
}

function chainRows(rows: readonly ReadRow[], blockTokens: number): Chain[] {
  const byId = new Map(rows.map((row) => [row.request_id, row]));
  const dependants = new Map<string, number>();
  for (const { wait_for } of rows) for (const id of wait_for) dependants.set(id, (dependants.get(id) ?? 0) + 1);
  const chainOf = new Map<string, Chain>();
  const chains: Chain[] = [];
  for (const row of inOrder(rows, byId)) {
    const before = row.wait_for.length === 1 ? byId.get(row.wait_for[0]!)! : null;
    const chain = before === null ? undefined : chainOf.get(before.request_id);
    const goesOn =
      before !== null && chain !== undefined && dependants.get(before.request_id) === 1 && continues(row, before, blockTokens);
    const own = goesOn ? chain : { rows: [] };
    if (!goesOn) chains.push(own);
    own.rows.push(row);
    chainOf.set(row.request_id, own);
  }
  return chains;
}

/** Whether `row` goes on in the KV that `before` left. */
function continues(row: ReadRow, before: ReadRow, blockTokens: number): boolean {
  if (row.topas !== null && before.topas !== null)
    return row.topas.stage === before.topas.stage && row.topas.task === before.topas.task;
  const full = Math.floor(before.input_length / blockTokens);
  return (
    full > 0 &&
    row.session_id === before.session_id &&
    row.input_length >= before.input_length + before.output_length &&
    before.hash_ids.slice(0, full).every((id, i) => row.hash_ids[i] === id)
  );
}

/** Dependencies first; a file may name a row before it comes. */
function inOrder(rows: readonly ReadRow[], byId: ReadonlyMap<string, ReadRow>): ReadRow[] {
  const out = new Set<ReadRow>();
  const open = rows.toReversed();
  for (let row = open.pop(); row !== undefined; row = open.pop()) {
    if (out.has(row)) continue;
    const missing = row.wait_for.map((id) => byId.get(id)!).filter((before) => !out.has(before));
    if (missing.length === 0) out.add(row);
    else if (open.length > 4 * rows.length + 64) throw new RangeError(`dynamo-agentic: row ${row.request_id} waits for itself`);
    else open.push(row, ...missing);
  }
  return [...out];
}

/** A name for the connected component of every row: rows joined by dependencies, or by one session. */
function components(rows: readonly ReadRow[]): Map<string, string> {
  const parent = new Map<string, string>();
  const find = (id: string): string => {
    let root = id;
    for (let up = parent.get(root); up !== undefined && up !== root; up = parent.get(root)) root = up;
    parent.set(id, root);
    return root;
  };
  for (const row of rows) {
    const links = [...row.wait_for, ...(row.session_id === undefined ? [] : [`session ${row.session_id}`])];
    for (const id of links) parent.set(find(id), find(row.request_id));
  }
  return new Map(rows.map((row) => [row.request_id, find(row.request_id)]));
}
