import type { CpuStep, GpuStep, Profile } from "./profile.ts";
import { denseTable } from "./table.ts";

/** What one step processes, summed over its sequences. */
export interface StepLoad {
  /** Prompt tokens computed, and the chunks they come in. */
  prefillTokens: number;
  chunks: number;
  /** Sum of n * (h + n/2) over the chunks: n new tokens on h tokens of history. */
  prefillWork: number;
  decodes: number;
  /** Sum of tokens whose KV the decoding sequences read. */
  contextTokens: number;
  /** Tokens in the cache, whoever holds them. Only the CPU engine feels them. */
  residentTokens: number;
}

export type StepTimer = (load: StepLoad) => number;

/** Tables are dense and dear to build: one timer a profile. A profile is never changed after it was read. */
const timers = new WeakMap<Profile, StepTimer>();

/** Seconds of one step (section 3; CPU: section 11). */
export function stepTimer(profile: Profile): StepTimer {
  const known = timers.get(profile);
  if (known !== undefined) return known;
  const timer = profile.step.kind === "gpu" ? gpuTimer(profile.step, profile.kvBytesPerToken) : cpuTimer(profile.step);
  timers.set(profile, timer);
  return timer;
}

function gpuTimer(step: GpuStep, kvBytesPerToken: number): StepTimer {
  const linear = denseTable(step.linearMs);
  const head = denseTable(step.headMs, "flat");
  const attention = attentionMs(step.attention, kvBytesPerToken);
  const skewAbove = step.skew?.aboveSequences ?? Infinity;
  const skew = step.skew?.factor ?? 1;
  const hostPerSequence = step.hostMicrosPerSequence / 1000;
  return (load) => {
    const sequences = load.chunks + load.decodes;
    const attended = attention(load);
    const ms =
      linear(load.prefillTokens + load.decodes) +
      head(sequences) +
      (sequences > skewAbove ? skew * attended : attended) +
      step.hostMs +
      hostPerSequence * sequences;
    return ms / 1000;
  };
}

function attentionMs(attention: GpuStep["attention"], kvBytesPerToken: number): (load: StepLoad) => number {
  if (attention.kind === "roofline") {
    const perWork = (attention.flopPerTokenContext / attention.flopPerSecond) * 1000;
    const perToken = (kvBytesPerToken / attention.kvBytesPerSecond) * 1000;
    return (load) => perWork * load.prefillWork + perToken * load.contextTokens;
  }
  const [d0, d1, d2] = attention.decodeMicros;
  const [p0, p1, p2] = attention.prefillMicros;
  const scale = attention.layers / 1000;
  return (load) => {
    const decode = load.decodes > 0 ? d0 + d1 * load.decodes + d2 * load.contextTokens : 0;
    return scale * (decode + p0 * load.chunks + p1 * load.prefillTokens + p2 * load.prefillWork);
  };
}

function cpuTimer(step: CpuStep): StepTimer {
  const decode = denseTable(step.decodeMs);
  const { prefillMsPerStep = 0 } = step;
  return (load) => {
    let ms = step.hostMs;
    if (load.decodes > 0) {
      const others = Math.max(0, load.residentTokens * load.decodes - load.contextTokens);
      ms += decode(load.decodes) + step.decodeMicrosPerContextToken * 1e-3 * load.contextTokens;
      ms += step.residencyMicrosPerSequenceToken * 1e-3 * others;
    }
    if (load.prefillTokens > 0) {
      ms += prefillMsPerStep + step.prefillMsPerToken * load.prefillTokens + 2 * step.prefillMsPerTokenSquared * load.prefillWork;
      ms += step.residencyMicrosPerPrefillToken * 1e-3 * load.prefillTokens * load.residentTokens;
    }
    return ms / 1000;
  };
}

/** Closed form: prefill of `newTokens` on `historyTokens`, alone in one chunk. */
export function prefillSeconds(profile: Profile, newTokens: number, historyTokens = 0): number {
  return stepTimer(profile)({
    prefillTokens: newTokens,
    chunks: 1,
    prefillWork: newTokens * (historyTokens + newTokens / 2),
    decodes: 0,
    contextTokens: 0,
    residentTokens: historyTokens,
  });
}

/** Closed form: one decode step of `sequences` that read `contextTokens` each. */
export function decodeSeconds(profile: Profile, sequences: number, contextTokens: number): number {
  return stepTimer(profile)({
    prefillTokens: 0,
    chunks: 0,
    prefillWork: 0,
    decodes: sequences,
    contextTokens: sequences * contextTokens,
    residentTokens: sequences * contextTokens,
  });
}
