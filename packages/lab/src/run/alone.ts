import { simulate, type CallSeconds, type Profile } from "@topas/sim";

/**
 * Seconds of a call alone on a warm, idle engine: a + b*prompt + c*output + d*output*context, fitted exactly to four lone calls
 * of the cost model. What slowdown divides by.
 */
export function loneCallSeconds(profile: Profile): CallSeconds {
  const lone = (promptTokens: number, outputTokens: number): number => {
    const result = simulate({
      profile,
      budget: 40_000,
      rules: "joint",
      policy: "fcfs",
      agents: [{ name: "a", prefixTokens: 0 }],
      tasks: [
        {
          id: "t",
          arrivalSeconds: 0,
          workflow: null,
          graph: null,
          stages: [{ id: "s", agent: "a", rounds: [{ promptTokens, outputTokens, toolWaitSeconds: 0 }] }],
        },
      ],
    });
    return result.calls[0]!.finishedSeconds - result.calls[0]!.readySeconds;
  };
  const [short, long] = [256, 1_024];
  const prefillA = lone(short, 1);
  const perPrompt = (lone(long, 1) - prefillA) / (long - short);
  const stepAt = (context: number): number => (lone(context, 201) - lone(context, 1)) / 200;
  const step = stepAt(short);
  const perContext = (stepAt(8_192) - step) / (8_192 - short);
  return ({ prefixTokens, historyTokens, promptTokens, outputTokens }) => {
    const context = prefixTokens + historyTokens + promptTokens + outputTokens / 2;
    const decode = Math.max(0, outputTokens - 1) * (step + perContext * (context - short - 100));
    return prefillA + perPrompt * Math.max(0, promptTokens - short) + decode;
  };
}
