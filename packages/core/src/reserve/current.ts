import { toBlocks } from "../config.ts";
import type { Reserve } from "../policy/policy.ts";
import { dynamicTokens } from "../state.ts";

/** d_r only, Eq. 2 read literally: no growth is reserved. With a head-of-line order it retracts and admits again for ever. */
export const current: Reserve = {
  id: "current",
  need: (view, request) => toBlocks(view.state.config, dynamicTokens(request)),
  promised: (view, running) => running.reduce((sum, request) => sum + toBlocks(view.state.config, dynamicTokens(request)), 0),
};
