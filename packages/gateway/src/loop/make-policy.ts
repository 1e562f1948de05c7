import { createPolicy, describePolicy, policyIds, type Policy, type PolicyChanges } from "@topas/core";
import type { EngineDescription } from "@topas/engines";
import { GatewayError } from "../errors.ts";
import { onEngine } from "./engine-view.ts";

/** What is left when a policy fails: the engine's own order. It takes no options, so that it is the same whatever was tried before. */
export const FALLBACK = "passthrough";

/**
 * The policy an id means on this engine.
 * @throws GatewayError 400 `unknown_policy` naming the known ids.
 */
export function makePolicy(engine: EngineDescription, id: string, options: PolicyChanges): Policy {
  const meant = onEngine(engine, id);
  const policy = createPolicy(meant.id, { ...(id === FALLBACK ? {} : options), ...meant.changes });
  if (policy === null) {
    throw new GatewayError("unknown_policy", {
      message: `unknown policy "${id}": choose one of ${policyIds().join(", ")}`,
      param: "policy",
    });
  }
  if (describePolicy(policy).experimentsOnly) {
    throw new GatewayError("unknown_policy", {
      message: `policy "${id}" reads the future and is for experiments only`,
      param: "policy",
    });
  }
  return policy;
}
