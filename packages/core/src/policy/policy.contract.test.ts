import { describe } from "vitest";
import { guardContract, policyContract } from "./policy.contract.ts";
import { createPolicy, policyIds } from "./registry.ts";

for (const id of policyIds()) policyContract(() => createPolicy(id)!);

describe("guarded", () => {
  for (const id of policyIds({ variants: true }).filter((name) => name.endsWith("-g")))
    guardContract(id, () => createPolicy(id)!);
});
