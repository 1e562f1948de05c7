import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { GatewayError } from "../errors.ts";
import { checkOptions, liveConfig, liveDefaults, said } from "./live.ts";
import { parseConfig } from "./read-file.ts";
import { START_KEYS, configSchema } from "./schema.ts";

const refusal = (text: string): string => {
  try {
    parseConfig(text, "topas.yaml");
  } catch (error) {
    if (GatewayError.isInstance(error) && error.code === "invalid_config") return error.message;
    throw error;
  }
  return "accepted";
};

describe("the configuration file", () => {
  it("is YAML or JSON; what it leaves out has its default, and flags win over it", () => {
    const yaml = "policy: topas\npolicyOptions: {rho: 2, reserve: peak}\nqueue:\n  limit: 7\nkeys: {inFlight: 3}\n";
    const { file } = parseConfig(yaml, "topas.yaml");
    expect(parseConfig(JSON.stringify(file), "topas.json").file).toEqual(file);
    expect(liveConfig(file, { policy: "lpm" })).toEqual({
      ...liveDefaults,
      policy: "lpm",
      policyOptions: { rho: 2, reserve: "peak" },
      queueLimit: 7,
      keyLimits: { inFlight: 3, requestsPerMinute: null, tokensPerMinute: null },
    });
  });

  it.each([
    ["policy: fcfs\npolcy: lpm", 'topas.yaml:2: polcy: unknown key: did you mean "policy"?'],
    ["queue:\n  limit: 0", "topas.yaml:2: queue.limit: Too small: expected number to be >=1, got 0"],
    ["queue: {Limit: 3}", 'topas.yaml:1: queue.Limit: unknown key: did you mean "limit"?'],
    ["log: loud", 'topas.yaml:1: log: Invalid option: expected one of "silent"|"error"|"warn"|"info"|"debug", got "loud"'],
    [
      "log: warn\nmaxRunning: 3",
      "topas.yaml:2: maxRunning: is set on the command line (--max-running) and needs a restart: remove it here",
    ],
    ["policyOptions:\n  nonsense: 1", "topas.yaml:2: policyOptions.nonsense: unknown key: use one of reserve, fit"],
    ["policy: a\npolicy: b", "topas.yaml:2: Map keys must be unique"],
    ["policy: [a", "topas.yaml:1: Flow sequence"],
    ["- policy", "topas.yaml: the file: expected object, received array"],
    ["", "topas.yaml: is empty"],
    ["policyOptions: {rho: .inf}", "topas.yaml:1: policyOptions.rho: expected number, received"],
    [`a: &a [1]\nb: [${Array.from({ length: 40 }, () => "*a").join()}]`, "topas.yaml: Excessive alias count"],
  ])("%j is refused with file, line, field and fix", (text, message) => {
    expect(refusal(text)).toContain(message);
  });

  it("the example of the documentation names every key there is, and is valid", () => {
    const page = readFileSync(new URL("../../../../docs/operations.md", import.meta.url), "utf8");
    const { file } = parseConfig(/```yaml\n([^`]+)```/.exec(page)![1]!, "operations.md");
    checkOptions(liveConfig(file));
    expect(Object.keys(file).toSorted()).toEqual(Object.keys(configSchema.shape).toSorted());
    expect(Object.keys(said(file)).toSorted()).toEqual(Object.keys(liveDefaults).toSorted());
    expect(Object.keys(file.start!).toSorted()).toEqual([...START_KEYS].toSorted());
  });

  it("options are those of the policy; passthrough ignores them all", () => {
    const check = (policy: string, policyOptions: object): void => checkOptions({ ...liveDefaults, policy, policyOptions });
    check("topas-guarded", { rho: 1, beta: 2, fallback: "guarded", reserve: "mean" });
    check("kv-index-safe", { kappa: 1, maxWaitSeconds: 2 });
    check("passthrough", { rho: 1 });
    expect(() => check("lpm", { rho: 1 })).toThrow(/policyOptions\.rho: policy lpm does not read it: use one of reserve, fit/);
  });
});
