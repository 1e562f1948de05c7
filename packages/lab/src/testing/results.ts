import { RUN_RULES } from "../manifest.ts";
import type { Results } from "../results/schema.ts";

/** A valid, empty results file. */
export function sampleResults(): Results {
  return {
    schema: "topas.results/1",
    evidence: "simulated",
    manifest: {
      version: "0.0.0",
      git: { commit: null, dirty: false },
      host: { platform: "linux", arch: "x64", cpu: "test", cores: 2, node: "v20" },
      profile: "p",
      profileStatus: "scaled",
      seeds: [1],
      command: "test",
      preset: "test",
      title: "Test",
      startedAt: "2026-01-01T00:00:00.000Z",
      minutes: 0,
      workers: 0,
      rules: RUN_RULES,
    },
    runs: [],
    comparisons: [],
    falsification: [],
    overhead: { decisionP50Us: 0, decisionP95Us: 0, wallShare: 0 },
  };
}
