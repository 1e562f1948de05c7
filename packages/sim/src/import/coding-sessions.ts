import type { SimAgent, SimStage, SimTask } from "../task.ts";
import { Fields } from "./fields.ts";
import { readRows, type Imported, type ImportOptions } from "./rows.ts";
import { sessionStages, type SessionCall } from "./session-stages.ts";
import { distinctAgents } from "./shared-prefix.ts";

export interface CodingSessionOptions extends ImportOptions {
  /** When each session starts; sessions of the file carry no common clock. Default: all at 0. */
  readonly arrivalSeconds?: readonly number[];
  /** Multiplies all token counts: published contexts of 100k need it on small budgets. Label such runs as scaled. */
  readonly tokenScale?: number;
  /** Longer waits are cut to this: people come back hours later. */
  readonly longestWaitSeconds?: number;
  readonly longestCallTokens?: number;
  readonly limit?: number;
}

const FORMAT = "coding-sessions";

/**
 * Coding sessions of callanjfox/kv-cache-tester (Apache-2.0) in the run-length form: one session a line with `tool_tokens`,
 * `system_tokens` and `requests` of `t, in, out, think, h`; nested sub-agents have `type: "subagent"` and requests of their own.
 * `think` is the client's time before a request. The parent waits for its sub-agents.
 */
export function importCodingSessions(lines: Iterable<string>, options: CodingSessionOptions = {}): Imported {
  const agents: SimAgent[] = [];
  let taken = 0;
  const read = readRows(
    lines,
    (line, number): SimTask | null => {
      if (taken >= (options.limit ?? Infinity)) return null;
      const row = Fields.json(FORMAT, number, line);
      const session = readSession(row, options);
      agents.push(...session.agents);
      const arrivalSeconds = options.arrivalSeconds?.[taken] ?? 0;
      taken += 1;
      return { id: row.text("id"), arrivalSeconds, workflow: "coding-session", graph: null, stages: session.stages };
    },
    options,
  );
  return {
    agents: distinctAgents(agents),
    tasks: read.rows,
    rows: read.rows.length,
    skippedRows: read.skippedRows,
    problems: read.problems,
    notes: [
      "block ids are local to a session: equal tool and system token counts of one model are taken for one prefix",
      "the main loop re-sends its whole context after sub-agents, as a new stage",
      ...(options.arrivalSeconds === undefined ? ["sessions start together: the file has no common clock"] : []),
    ],
  };
}

function readSession(row: Fields, options: CodingSessionOptions): { readonly agents: SimAgent[]; readonly stages: SimStage[] } {
  const scale = options.tokenScale ?? 1;
  const agents: SimAgent[] = [];
  const stages: SimStage[] = [];
  const agentOf = (of: Fields, role: string): SimAgent => {
    const tokens = of.count("tool_tokens") + of.count("system_tokens");
    const agent = {
      name: `${role}:${of.or("models", "texts", [])[0] ?? ""}:${tokens}`,
      prefixTokens: Math.round(tokens * scale),
    };
    agents.push(agent);
    return agent;
  };
  const main = agentOf(row, "main");
  let before: readonly string[] = [];
  let calls: Fields[] = [];
  let forks: string[] = [];
  let forkBase: readonly string[] = [];
  let part = 0;
  const append = (agent: SimAgent, requests: readonly Fields[], id: string, after: readonly string[]): string => {
    const made = sessionStages(callsOf(requests, agent.prefixTokens, options), agent.name, agent.prefixTokens, id, after);
    stages.push(...made);
    return made.at(-1)!.id;
  };
  const closeMain = (): void => {
    if (calls.length > 0) before = [append(main, calls, `main${++part}`, before)];
    calls = [];
  };
  for (const request of row.objects("requests")) {
    if (request.raw("type") !== "subagent") {
      if (forks.length > 0) before = forks;
      forks = [];
      calls.push(request);
      continue;
    }
    closeMain();
    if (forks.length === 0) forkBase = before;
    const inner = request.objects("requests");
    if (inner.length > 0) forks.push(append(agentOf(request, "sub"), inner, `sub${stages.length + 1}`, forkBase));
  }
  closeMain();
  if (stages.length === 0) row.fail("requests", "is empty");
  return { agents, stages };
}

function callsOf(requests: readonly Fields[], prefixTokens: number, options: CodingSessionOptions): SessionCall[] {
  const { tokenScale = 1, longestWaitSeconds = Infinity, longestCallTokens = Infinity } = options;
  return requests.map((request, i) => {
    const outputTokens = Math.max(1, Math.round(request.count("out") * tokenScale));
    const inputTokens = Math.round(request.count("in") * tokenScale);
    const next = requests[i + 1];
    return {
      inputTokens: Math.max(prefixTokens + 1, Math.min(inputTokens, longestCallTokens - outputTokens)),
      outputTokens,
      waitAfterSeconds: next === undefined ? 0 : Math.min(longestWaitSeconds, next.amount("think")),
    };
  });
}
