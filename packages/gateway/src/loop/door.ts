import { feasible } from "@topas/core";
import { GatewayError } from "../errors.ts";
import type { Loop } from "../loop.ts";
import type { ScheduledCall } from "../scheduler.ts";
import { coreConfig } from "./engine-view.ts";

/** Throws a GatewayError before anything is counted as queued. */
export function admissible(loop: Loop, call: ScheduledCall, now: number): void {
  const { identity, prompt } = call;
  if (loop.closed) throw new GatewayError("shutting_down");
  if (loop.tasks.isBuried(identity.task, now)) throw new GatewayError("task_cancelled");
  if (!loop.engineUp) {
    loop.counters_.refused_engine_total++;
    throw new GatewayError("engine_unavailable");
  }
  const prefixTokens = prompt.prefix?.tokens ?? 0;
  const size = { prefixTokens, ownPromptTokens: prompt.promptTokens - prefixTokens, maxTokens: call.maxTokens };
  const fit = feasible({ ...coreConfig(loop.description), failsOnOverflow: true }, size);
  if (!fit.ok) {
    loop.counters_.refused_context_total++;
    throw new GatewayError("context_length_exceeded", {
      message: `prompt (${prompt.promptTokens} tokens) and max_tokens (${call.maxTokens}) need ${fit.needTokens} tokens of KV cache, the limit is ${fit.limitTokens}: shorten messages or lower max_tokens`,
      param: "messages",
    });
  }
  if (loop.queueFull) {
    loop.counters_.refused_queue_full_total++;
    throw new GatewayError("queue_full", { retryAfterSeconds: retryAfterSeconds(loop) });
  }
}

/**
 * A prefix that changes from call to call has no residency value: with a clock at its head the call keeps all of it to itself (K04),
 * with one further behind its calls share what they have in common. A name with a few prompts that come back is left alone.
 */
export function withoutVolatilePrefix(loop: Loop, call: ScheduledCall): ScheduledCall {
  const { prompt, identity } = call;
  const { tokens, prefix } = prompt;
  if (prefix === null || tokens === null || identity.agent === prefix.id) return call;
  const head = tokens.subarray(0, prefix.tokens);
  const seen = loop.prefixes.observe(identity.agent, prefix.id, head, loop.description.blockTokens);
  if (seen.firstDiffToken === null || seen.seenBefore) return call;
  loop.counters_.volatile_prefix_total++;
  loop.prefixes.note(identity.agent, seen.firstDiffToken, prefix.tokens);
  const shares = 2 * seen.effectiveTokens >= prefix.tokens;
  if (seen.warn) {
    const { agent } = identity;
    const { firstDiffToken, effectiveTokens } = seen;
    loop.options.log?.("warn", "volatile prefix", { agent, firstDiffToken, keptTokens: shares ? effectiveTokens : 0 });
  }
  if (!shares) return { ...call, prompt: { ...prompt, prefix: null } };
  const id = loop.prefixes.commonId(identity.agent, head, seen.effectiveTokens);
  return { ...call, prompt: { ...prompt, prefix: { id, tokens: seen.effectiveTokens } } };
}

/** One over the rate at which calls have been finishing, whole seconds within [1, 30]. */
function retryAfterSeconds(loop: Loop): number {
  const rate = loop.counters_.calls_finished_total / Math.max(1, loop.now());
  return Math.min(30, Math.max(1, Math.ceil(1 / Math.max(rate, 0.5))));
}
