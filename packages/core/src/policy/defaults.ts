import type { PolicyOptions } from "./policy.ts";

/** Defaults of every option (algorithm 3.2). */
export const DEFAULT_OPTIONS: PolicyOptions = {
  fit: "stop",
  allFits: true,
  governs: true,
  holdSeconds: null,
  beta: 1,
  rho: 1,
  gainFloor: 0.5,
  revokeFactor: 1,
  victimGuard: null,
  guardScope: "stage",
  maxPerDecision: 16,
  enumerateUpTo: 6,
  workConserving: true,
  billSwapOut: true,
  redoBill: "actual",
  maxEvaluations: 600,
  fallbackAbove: 128,
  inBatchRule: false,
};
