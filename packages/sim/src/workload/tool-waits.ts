import { lognormal, type Distribution } from "./distribution.ts";

/**
 * Seconds between a call's end and the next call of its stage, as mixtures fitted to published quantiles: tools of SWE
 * tasks in containers (yunwei37/agentcgroup, 8,110 calls) and the client side of coding sessions (callanjfox/kv-cache-tester).
 * `mixed` lies between both; `heavy` gives 5 % of it a Pareto tail of up to an hour.
 */
const swe: Distribution = {
  kind: "mixture",
  parts: [
    [0.63, lognormal(0.025, 0.6)],
    [0.36, lognormal(5, 0.7)],
    [0.01, lognormal(15, 0.6)],
  ],
};

const mixed: Distribution = {
  kind: "mixture",
  parts: [
    [0.6, lognormal(0.03, 0.8)],
    [0.3, lognormal(4, 0.9)],
    [0.08, lognormal(30, 0.8)],
    [0.02, lognormal(90, 0.8)],
  ],
};

export const TOOL_WAITS = {
  swe,
  mixed,
  heavy: {
    kind: "mixture",
    parts: [
      [0.95, mixed],
      [0.05, { kind: "pareto", least: 60, alpha: 1.2, max: 3_600 }],
    ],
  },
  none: { kind: "fixed", value: 0 },
} as const satisfies Record<string, Distribution>;

export type ToolWaitName = keyof typeof TOOL_WAITS;

/** Quantiles of the client side of published coding sessions after a tool call, whole seconds (callanjfox/kv-cache-tester, Apache-2.0). */
export const CODING_TOOL_WAIT: Distribution = {
  kind: "quantiles",
  points: [
    [0, 1],
    [0.05, 3],
    [0.25, 5],
    [0.5, 9],
    [0.75, 19],
    [0.9, 68],
    [0.95, 147],
    [0.99, 610],
    [1, 1_800],
  ],
};
