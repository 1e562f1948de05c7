/** The child process as the parent sees it: a place to send messages to, and one exit. */
import { fork } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Envelope, ToChild } from "./protocol.ts";

/** Kept of the child's stderr for the error report, characters. */
const STDERR_KEPT = 4096;

export interface ChildLink {
  readonly pid: number | undefined;
  send(message: ToChild): void;
  kill(signal: "SIGKILL" | "SIGTERM"): void;
}

/** `onExit` is called once, with the reason and the end of stderr; no message follows it. */
export function forkChild(onEnvelope: (envelope: Envelope) => void, onExit: (message: string) => void): ChildLink {
  // From source the child needs the same loader as its parent, but never the parent's own flags (a test runner's, a debugger's).
  const fromSource = import.meta.url.endsWith(".ts");
  const entry = fileURLToPath(new URL(fromSource ? "./child.ts" : "./child.js", import.meta.url));
  const loader = (): string => pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const child = fork(entry, [], {
    serialization: "advanced",
    execArgv: fromSource ? ["--conditions=@topas/source", "--import", loader()] : [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let stderr = "";
  let over = false;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (stderr = (stderr + text).slice(-STDERR_KEPT)));
  child.on("message", (envelope) => {
    if (!over) onEnvelope(envelope as Envelope);
  });
  const exit = (reason: string): void => {
    if (over) return;
    over = true;
    const tail = stderr.trim();
    onExit(tail === "" ? reason : `${reason}: ${tail}`);
  };
  child.on("error", (error) => exit(error.message));
  // "close" and not "exit": by then all messages and all of stderr have arrived.
  child.on("close", (code, signal) =>
    exit(signal === null ? `engine process ended with code ${code}` : `engine process killed by ${signal}`),
  );
  return {
    pid: child.pid,
    // A send to a dying child fails later than its exit is seen: the exit tells the whole story.
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    kill: (signal) => void child.kill(signal),
  };
}
