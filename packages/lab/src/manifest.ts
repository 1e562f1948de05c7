import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { cpus, platform } from "node:os";
import { fileURLToPath } from "node:url";
import type { Manifest } from "./results/schema.ts";
import { STARVE_AFTER_SECONDS } from "./run/run-cell.ts";
import { STABILITY_RULE } from "./run/stability.ts";
import { CAPACITY_ARMS } from "./grid/grid.ts";

/** Rules every figure of a results file follows, in words. */
export const RUN_RULES = {
  warmup: "the first warmupTasks tasks by arrival are run but not measured",
  drain:
    "arrivals end after the last task and the run goes on until every task is over; nothing is cut off, so every measured task counts",
  stability: STABILITY_RULE,
  starvation: `a call that waits more than ${STARVE_AFTER_SECONDS} s for its admission is starved`,
  contended:
    "contendedShare: share of the instants at which a call became ready or finished and after which a ready call still waited longer than a decode step",
  load: `share of the capacity: the best saturated throughput (all tasks at once) of ${CAPACITY_ARMS.join(", ")}, same budget and host tier`,
} as const;

export interface GitState {
  readonly commit: string | null;
  readonly dirty: boolean;
}

/** Of the code that runs, not of the folder the command was given in. */
export function gitState(): GitState {
  const git = (...args: string[]): string =>
    execFileSync("git", args, {
      cwd: fileURLToPath(new URL(".", import.meta.url)),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    return { commit: git("rev-parse", "HEAD"), dirty: git("status", "--porcelain", "--untracked-files=no") !== "" };
  } catch {
    return { commit: null, dirty: false };
  }
}

const CODE = ["packages/core", "packages/sim", "packages/lab"];

/** Names the code that makes figures, changes included: cells of other code are not taken over. */
export function codeId(folders: readonly string[] = CODE): string {
  const root = fileURLToPath(new URL("../../..", import.meta.url));
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: root, encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] });
  try {
    const trees = git("rev-parse", ...folders.map((folder) => `HEAD:${folder}`));
    const changes = git("diff", "HEAD", "--", ...folders);
    return `${packageVersion()} ${createHash("sha256").update(trees).update(changes).digest("hex").slice(0, 16)}`;
  } catch {
    return packageVersion();
  }
}

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string };
  return version;
}

export function hostFacts(): Manifest["host"] {
  const all = cpus();
  return { platform: platform(), arch: process.arch, cpu: all[0]?.model ?? "unknown", cores: all.length, node: process.version };
}
