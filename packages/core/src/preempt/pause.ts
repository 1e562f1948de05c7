import type { Preempt } from "../policy/policy.ts";

/**
 * Pause at the tool boundary (ThunderAgent): nobody is stopped while decoding; a paused program is one whose next call is
 * not admitted yet, so the order and the reserve do the pausing and the engine's own overflow rule is all that preempts.
 */
export const pauseAtTool: Preempt = { id: "pause-at-tool", voluntary: false, eligible: () => false };
