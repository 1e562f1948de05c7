import { spawn } from "node:child_process";

export interface RunResult {
  readonly code: number;
  /** stdout and stderr, the end of them. */
  readonly output: string;
}

export type Run = (command: string, args: readonly string[], cwd: string) => Promise<RunResult>;

const KEPT = 20_000;

/** A command that cannot be started ends with code 127 and says why. */
export const runCommand: Run = (command, args, cwd) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"], shell: process.platform === "win32" });
    let output = "";
    const keep = (text: string): void => void (output = (output + text).slice(-KEPT));
    child.stdout.setEncoding("utf8").on("data", keep);
    child.stderr.setEncoding("utf8").on("data", keep);
    child.on("error", (error) => resolve({ code: 127, output: error.message }));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
