import { claimOf, memberOf, textOf, type Claim } from "./sources.ts";

/** Claude Code: `metadata.user_id` ends in `session_<uuid>`. */
const CLAUDE_SESSION = /session_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$/i;

/** Where known programs name their run in the body, best first. */
const TASK_MEMBERS: readonly (readonly string[])[] = [
  ["program_id"],
  ["extra_body", "program_id"],
  ["session_id"],
  ["session_params", "id"],
  ["nvext", "session_control", "session_id"],
];

/**
 * Body fields that agents already send. `prompt_cache_key`, `conversation_id`, `routing_key` and `user` are shared by unrelated
 * calls and name no task. `priority` is no identity.
 */
export function bodyFields(body: unknown): Claim {
  const context = agenticContext(body);
  const claude = CLAUDE_SESSION.exec(textOf(memberOf(body, "metadata", "user_id")) ?? "")?.[1] ?? null;
  const osl = memberOf(body, "nvext", "agent_hints", "osl");
  return claimOf({
    task:
      TASK_MEMBERS.map((path) => textOf(memberOf(body, ...path))).find((id) => id !== null) ??
      textOf(memberOf(context, "session_id")) ??
      claude,
    parentTask: textOf(memberOf(context, "parent_session_id")),
    final: memberOf(body, "nvext", "session_control", "action") === "close" ? true : null,
    expectedOutputTokens: typeof osl === "number" && Number.isFinite(osl) && osl >= 0 ? osl : null,
  });
}

/** vLLM carries only strings in `vllm_xargs`, so the object may be written out as JSON; anything else is ignored. */
function agenticContext(body: unknown): unknown {
  const value = memberOf(body, "vllm_xargs", "agentic_context");
  if (typeof value !== "string") return value;
  if (value.length > 4096) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}
