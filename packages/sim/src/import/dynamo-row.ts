/** One call of an agentic Mooncake trace (ai-dynamo, crate dynamo-data-gen 1.3, AgenticMooncakeRow). Times in ms. */
export interface DynamoRow {
  readonly request_id: string;
  readonly session_id?: string;
  readonly input_length?: number;
  readonly output_length?: number;
  readonly hash_ids?: readonly number[];
  /** Start of a row without dependencies. */
  readonly timestamp?: number;
  /** After every dependency has ended. */
  readonly delay?: number;
  readonly wait_for: readonly string[];
  readonly branches: readonly string[];
  readonly tool_wait_ms?: number;
  readonly tool_events: readonly unknown[];
  /** Ours, ignored by others: what the format has no word for. */
  readonly topas?: DynamoExtension;
}

export interface DynamoExtension {
  readonly task: string;
  readonly workflow: string | null;
  readonly stage: string;
  readonly round: number;
  readonly agent: string;
  readonly prefixTokens: number;
  readonly maxTokens: number;
  /** Wait after this call, whoever depends on it. */
  readonly waitAfterMs: number;
  readonly tenant?: string;
}
