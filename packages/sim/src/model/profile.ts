/** One engine on one device: a data file (`profiles/*.json`) with its sources. Times in the units the names say. */
export interface Profile {
  readonly name: string;
  readonly description: string;
  /** validated: compared with published serving runs. scaled: tables measured on a sibling model. inferred: reasoned. placeholder: to be fitted. */
  readonly status: "validated" | "scaled" | "inferred" | "placeholder";
  readonly sources: readonly ProfileSource[];
  readonly kvBytesPerToken: number;
  readonly blockTokens: number;
  /** Named KV budgets, tokens; `default` is what a run takes that names none. */
  readonly kvBudgetTokens: Readonly<Record<string, number>> & { readonly default: number };
  readonly step: GpuStep | CpuStep;
  readonly limits: ProfileLimits;
  readonly transfer: ProfileTransfer;
  readonly powerWatts?: { readonly prefill: number; readonly decode: number; readonly idle: number };
}

export interface ProfileSource {
  readonly what: string;
  readonly source: string;
  readonly licence: string;
}

/** [tokens or sequences, milliseconds], ascending. */
export type Table = readonly (readonly [number, number])[];

/** Accelerator: table of linear layers, attention, head, host (design of the step model, section 3). */
export interface GpuStep {
  readonly kind: "gpu";
  readonly linearMs: Table;
  readonly headMs: Table;
  readonly attention: Roofline | LayerFit;
  readonly hostMs: number;
  readonly hostMicrosPerSequence: number;
  /** Mixed lengths in one batch: attention times `factor` above this many sequences. */
  readonly skew: { readonly aboveSequences: number; readonly factor: number } | null;
}

export interface Roofline {
  readonly kind: "roofline";
  readonly flopPerTokenContext: number;
  readonly flopPerSecond: number;
  readonly kvBytesPerSecond: number;
}

/** Least squares over published kernels, microseconds a layer: decode a + b*sequences + c*context, prefill per chunk a + b*n + c*n*(h + n/2). */
export interface LayerFit {
  readonly kind: "layers";
  readonly layers: number;
  readonly decodeMicros: readonly [number, number, number];
  readonly prefillMicros: readonly [number, number, number];
}

/** CPU engine: quadratic prefill and a tax on every resident token of other sequences (section 11). */
export interface CpuStep {
  readonly kind: "cpu";
  readonly decodeMs: Table;
  readonly decodeMicrosPerContextToken: number;
  /** Per decoding sequence and token of others resident in the unified cache. */
  readonly residencyMicrosPerSequenceToken: number;
  /** Of a step with any prompt tokens, however few; default 0. */
  readonly prefillMsPerStep?: number;
  readonly prefillMsPerToken: number;
  /** b of a*n + b*n^2. */
  readonly prefillMsPerTokenSquared: number;
  /** Per prefilled token and token of others resident. */
  readonly residencyMicrosPerPrefillToken: number;
  readonly hostMs: number;
}

export interface ProfileLimits {
  /** SGLang: chunked_prefill_size and max_prefill_tokens. vLLM: max_num_batched_tokens and max_num_seqs. */
  readonly chunkTokens: number;
  readonly maxPrefillTokens: number;
  readonly batchTokens: number;
  readonly maxSequences: number;
}

export interface ProfileTransfer {
  readonly hostToDeviceBytesPerSecond: number;
  readonly deviceToHostBytesPerSecond: number;
  readonly baseMicros: number;
  /** Page by page, without a copy kernel. */
  readonly slowBytesPerSecond: number;
}

/** Accepts parsed JSON of a profile file. @throws RangeError naming the field. */
export function parseProfile(json: unknown): Profile {
  const profile = json as Profile;
  const fail = (field: string): never => {
    throw new RangeError(`profile ${String(profile?.name)}: ${field}`);
  };
  if (typeof profile !== "object" || profile === null || typeof profile.name !== "string") fail("name is missing");
  if (!["validated", "scaled", "inferred", "placeholder"].includes(profile.status)) fail("status is unknown");
  if (!Array.isArray(profile.sources) || profile.sources.length === 0) fail("sources are missing");
  for (const source of profile.sources) if (!source.source || !source.licence) fail("a source lacks its address or licence");
  if (!(profile.kvBytesPerToken > 0)) fail("kvBytesPerToken must be positive");
  if (!(profile.kvBudgetTokens?.default > 0)) fail("kvBudgetTokens.default must be positive");
  if (!Number.isInteger(profile.blockTokens) || profile.blockTokens < 1) fail("blockTokens must be a positive integer");
  const tables = profile.step.kind === "gpu" ? [profile.step.linearMs, profile.step.headMs] : [profile.step.decodeMs];
  for (const table of tables) if (!ascending(table)) fail("a table is empty or not ascending");
  return profile;
}

function ascending(table: Table): boolean {
  return table.length > 0 && table.every(([n, ms], i) => ms >= 0 && n > (table[i - 1]?.[0] ?? 0));
}
