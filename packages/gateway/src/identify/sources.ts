/** Lower-case names; several values as Node gives them. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What one source says about a call; every member the client's own word, not yet scoped. */
export interface Claim {
  readonly task?: string;
  readonly parentTask?: string;
  readonly workflow?: string;
  readonly stage?: string;
  readonly agent?: string;
  /** Names the private history inside the task. */
  readonly sessionKey?: string;
  readonly final?: boolean;
  readonly expectedOutputTokens?: number;
}

export type ClaimText = "task" | "parentTask" | "workflow" | "stage" | "agent" | "sessionKey";

/** First non-empty value of a header; null: absent. */
export function headerOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  const first = typeof value === "string" || value === undefined ? value : value[0];
  return first === undefined || first === "" ? null : first;
}

/** Own member of a JSON object; undefined for anything else. */
export function memberOf(value: unknown, ...path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== "object" || at === null || Array.isArray(at) || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

export function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** A claim without the members that are not known. */
export function claimOf(members: { readonly [K in keyof Claim]?: Claim[K] | null | undefined }): Claim {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null && value !== undefined));
}
