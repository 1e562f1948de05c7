import { armsOf, readConditions, type Arm } from "../conditions.ts";

/** No conditions but measures: policies that know the future, and memory without end (algorithm 4.19). */
const REFERENCES: readonly Arm[] = [
  { name: "oracle-index", rules: "joint", policy: "oracle-index", reserve: "peak", truth: true, condition: "reference" },
  {
    name: "oracle-srpt-o",
    rules: "joint",
    policy: "oracle-srpt",
    fit: "over",
    reserve: "peak",
    truth: true,
    condition: "reference",
  },
  {
    name: "oracle-reserve-o",
    rules: "joint",
    policy: "oracle-reserve",
    fit: "over",
    truth: true,
    condition: "reference",
  },
  {
    name: "topas-guarded foretold",
    rules: "joint",
    policy: "topas-guarded",
    reserve: "peak",
    foretold: true,
    condition: "reference",
  },
  // Two passes: the order of uses of the first run is the future that the second one believes.
  {
    name: "oracle-belady-o",
    rules: "joint",
    policy: "oracle-belady",
    fit: "over",
    reserve: "peak",
    truth: true,
    condition: "reference",
  },
  {
    name: "unlimited KV",
    rules: "joint",
    policy: "fcfs",
    fit: "over",
    reserve: "mean",
    budgetFactor: 20,
    condition: "reference",
  },
];

/** Every arm by its name: those of the condition files, and the references. */
export function allArms(): Map<string, Arm> {
  const arms = armsOf(readConditions());
  for (const arm of REFERENCES) arms.set(arm.name, arm);
  return arms;
}
