/** The bare loop as the bench sees it: one job, one run. */
import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import type { OpenOptions } from "../../src/llama/protocol.ts";
import type { Job, Run } from "./jobs.ts";
import type { FromRaw, ToRaw } from "./raw-process.ts";

export interface Raw {
  run(job: Job): Promise<Run>;
  close(): void;
}

export async function startRaw(options: OpenOptions): Promise<Raw> {
  const child = fork(new URL("./raw-process.ts", import.meta.url), [], {
    execArgv: ["--conditions=@topas/source", "--import", import.meta.resolve("tsx")],
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await ask(child, { open: options });
  return {
    async run(job) {
      const reply = await ask(child, { job });
      if (!("run" in reply)) throw new Error("the raw loop did not answer with a run");
      return reply.run;
    },
    close: () => void child.kill("SIGKILL"),
  };
}

function ask(child: ChildProcess, message: ToRaw): Promise<FromRaw> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`the raw loop left with code ${code}`));
    child.once("exit", onExit);
    child.once("message", (reply: FromRaw) => {
      child.off("exit", onExit);
      if ("failed" in reply) reject(new Error(`raw loop: ${reply.failed}`));
      else resolve(reply);
    });
    child.send(message);
  });
}
