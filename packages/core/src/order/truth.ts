import { outputLimitTokens } from "../estimate/estimator.ts";
import type { AllOptions, Truth } from "../policy/baseline-options.ts";
import type { KeyOrder, Reserve } from "../policy/policy.ts";
import { generatedTokens } from "../state.ts";
import type { View } from "../view.ts";
import { keyOrder } from "./key-order.ts";
import { areaTokenSeconds } from "./remaining.ts";

/** The same view with estimates replaced by the truth wherever it is known. */
export function clairvoyant(view: View, truth: Truth | null): View {
  if (truth === null) return view;
  const believed = view.estimator;
  const estimator: View["estimator"] = {
    ...believed,
    expectedOutputTokens: (request) => truth.outputTokens(request.spec) ?? believed.expectedOutputTokens(request),
    remainingTokens(request) {
      const output = truth.outputTokens(request.spec);
      return output === null ? believed.remainingTokens(request) : Math.max(0, output - generatedTokens(request));
    },
    reservedOutputTokens(request) {
      const output = truth.outputTokens(request.spec);
      if (output === null) return believed.reservedOutputTokens(request);
      return Math.min(outputLimitTokens(request), Math.max(output, generatedTokens(request) + 32));
    },
    callServiceSeconds(request) {
      const output = truth.outputTokens(request.spec);
      const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = view.state.config.speeds;
      return output === null ? believed.callServiceSeconds(request) : p * request.spec.ownPromptTokens + h * output;
    },
    callAreaTokenSeconds(request) {
      const o = truth.outputTokens(request.spec);
      if (o === null) return believed.callAreaTokenSeconds(request);
      const { prefillSecondsPerToken: p, decodeSecondsPerToken: h } = view.state.config.speeds;
      const q = request.spec.ownPromptTokens;
      return h * (q * o + (o * o) / 2) + p * q * q;
    },
    remainingAreaTokenSeconds: (task) => truth.remainingAreaTokenSeconds(task.id) ?? believed.remainingAreaTokenSeconds(task),
  };
  return Object.create(view, { estimator: { value: estimator, enumerable: true } }) as View;
}

/** The same reserve, promising true lengths. */
export function trueReserve(reserve: Reserve, options: AllOptions): Reserve {
  return {
    id: reserve.id,
    need: (view, request) => reserve.need(clairvoyant(view, options.truth), request),
    promised: (view, running) => reserve.promised(clairvoyant(view, options.truth), running),
  };
}

/** SRPT with true remaining areas. */
export function trueSrpt(options: AllOptions): KeyOrder {
  return keyOrder("srpt-true", {}, (view) => {
    const seen = clairvoyant(view, options.truth);
    return (request) => areaTokenSeconds(seen, request);
  });
}
