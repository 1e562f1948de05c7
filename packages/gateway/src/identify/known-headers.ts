import { PLAIN_HEADERS } from "@topas/receipt";
import { claimOf, headerOf, type Claim, type Headers } from "./sources.ts";

/** The form for hand tests: `x-topas-task`, `-stage`, `-agent`, `-workflow`. */
export function plainHeaders(headers: Headers): Claim {
  return claimOf({
    task: headerOf(headers, PLAIN_HEADERS.task),
    stage: headerOf(headers, PLAIN_HEADERS.stage),
    agent: headerOf(headers, PLAIN_HEADERS.agent),
    workflow: headerOf(headers, PLAIN_HEADERS.workflow),
  });
}

/** Session headers that name one run of an agent program, taken as the task. First found wins. */
const TASK_HEADERS = [
  "x-claude-code-session-id",
  // Codex sends both spellings.
  "session-id",
  "session_id",
  // OpenCode, AIBrix.
  "x-session-id",
  "x-session-affinity",
] as const;

/** The id of the flow in llm-d, older spelling second: many tasks share it, so it is a workflow and never a task. */
const FLOW_HEADERS = ["x-llm-d-inference-fairness-id", "x-gateway-inference-fairness-id"] as const;

/**
 * What agents and routers that know nothing of us already send. Dynamo's session is one agent instance of the parent session,
 * which is the task; without a parent the session itself is the task. Priorities and routing keys are no identity.
 */
export function agentHeaders(headers: Headers): Claim {
  const session = headerOf(headers, "x-dynamo-session-id");
  const parent = headerOf(headers, "x-dynamo-parent-session-id");
  return claimOf({
    task: parent ?? session ?? first(headers, TASK_HEADERS),
    sessionKey: parent === null ? null : session,
    final: /^(true|1)$/i.test(headerOf(headers, "x-dynamo-session-final") ?? "") ? true : null,
    workflow: first(headers, FLOW_HEADERS),
  });
}

function first(headers: Headers, names: readonly string[]): string | null {
  for (const name of names) {
    const value = headerOf(headers, name);
    if (value !== null) return value;
  }
  return null;
}
