import { fork, type ChildProcess } from "node:child_process";

/** A server under test in its own process: its port, its CPU and its memory, asked over IPC. */
export interface Subject {
  readonly url: string;
  /** CPU microseconds (user + system) since start, and resident bytes now. */
  usage(): Promise<{ cpuUs: number; rss: number }>;
  ask(question: string): Promise<unknown>;
  stop(): void;
}

export async function startSubject(file: URL, args: readonly string[]): Promise<Subject> {
  const child = fork(file, args, {
    execArgv: ["--conditions=@topas/source", "--import", import.meta.resolve("tsx")],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const { port } = (await next(child, "listening")) as { port: number };
  const ask = (question: string): Promise<unknown> => {
    const answer = next(child, question);
    child.send(question);
    return answer;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    usage: async () => (await ask("usage")) as { cpuUs: number; rss: number },
    ask,
    stop: () => child.kill("SIGKILL"),
  };
}

/** Server side of {@link startSubject}: report the port, then answer questions. */
export function serveSubject(port: number, answers: Readonly<Record<string, () => unknown>> = {}): void {
  process.on("message", (question: string) => {
    const cpu = process.cpuUsage();
    const body = question === "usage" ? { cpuUs: cpu.user + cpu.system, rss: process.memoryUsage.rss() } : answers[question]?.();
    process.send?.({ topic: question, body });
  });
  process.on("disconnect", () => process.exit(0));
  process.send?.({ topic: "listening", body: { port } });
}

function next(child: ChildProcess, topic: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`subject left with code ${code}`));
    const onMessage = (message: { topic: string; body: unknown }): void => {
      if (message.topic !== topic) return;
      child.off("message", onMessage);
      child.off("exit", onExit);
      resolve(message.body);
    };
    child.on("message", onMessage);
    child.once("exit", onExit);
  });
}
