import type { KeyOrder } from "../policy/policy.ts";
import type { RequestState } from "../state.ts";
import { keyOrder } from "./key-order.ts";

/**
 * SAGA-like (arXiv 2605.00528): started tasks before new ones, tasks holding session KV first, then the tenant with the
 * least attained service per entitlement (equal entitlements), then tau_i.
 */
export const saga: KeyOrder = keyOrder("saga", {}, (view) => {
  const tenants = new Map<string, number>();
  for (const task of view.state.tasks.values()) tenants.set(task.tenant, (tenants.get(task.tenant) ?? 0) + task.attainedSeconds);
  return (request: RequestState) => {
    const task = view.state.tasks.get(request.spec.task);
    const started = task !== undefined && task.attainedSeconds > 0;
    const held = view.sessionOf(request) !== null;
    return [started ? 0 : 1, held ? 0 : 1, tenants.get(task?.tenant ?? "") ?? 0];
  };
});
