import { policyContract } from "./policy.contract.ts";
import { createPolicy, policyIds } from "./registry.ts";

for (const id of policyIds()) policyContract(() => createPolicy(id)!);
