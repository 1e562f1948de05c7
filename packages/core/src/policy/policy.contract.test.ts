import { describe, expect, it } from "vitest";
import { guardContract, largeCallSeconds, policyContract } from "./policy.contract.ts";
import { createPolicy, policyIds } from "./registry.ts";

for (const id of policyIds()) policyContract(() => createPolicy(id)!);

describe("guarded", () => {
  for (const id of policyIds({ variants: true }).filter((name) => name.endsWith("-g")))
    guardContract(id, () => createPolicy(id)!);

  it("without it the large call may wait for ever", () => {
    expect(largeCallSeconds(createPolicy("spf-o")!)).toBe(Infinity);
  });
});
