import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import type { RufloJob } from "./jobs.ts";
import { v3Root } from "./packages.ts";
import { workerEntry } from "./worker-entry.ts";
import type { WorkerData, WorkerOrder, WorkerReport } from "./worker.ts";

export interface RufloPool {
  /** Runs the job in a thread of its own at once. Rejects when the thread dies or the signal fires. */
  readonly run: (job: RufloJob, url: string, signal: AbortSignal) => Promise<WorkerReport>;
  readonly close: () => Promise<void>;
}

export interface PoolOptions {
  readonly kind: RufloJob["kind"];
  readonly packages: string;
  /** Threads that are ready before this resolves. A job that finds none starts another one and waits for it. */
  readonly size: number;
  readonly receipts: boolean;
}

/** Threads with one engine each, started before anybody looks at a clock. Their folders are removed with them. */
export async function openPool({ kind, packages, size, receipts }: PoolOptions): Promise<RufloPool> {
  const home = mkdtempSync(join(tmpdir(), "topas-ruflo-"));
  const scratch = join(home, "runs");
  mkdirSync(scratch);
  const entry = await workerEntry(home);
  const data: WorkerData = { kind, packages, scratch };
  const all = new Set<Worker>();
  const idle: Worker[] = [];

  const start = (): Promise<Worker> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(entry, {
        workerData: data,
        execArgv: [],
        env: environment(packages, home, receipts),
        stdout: true,
      });
      all.add(worker);
      worker.stdout.resume();
      worker.once("message", () => resolve(worker));
      worker.once("error", reject);
      worker.once("exit", (code) => {
        all.delete(worker);
        if (idle.includes(worker)) idle.splice(idle.indexOf(worker), 1);
        reject(new Error(`the Ruflo thread ended with code ${code} before it was ready`));
      });
    });

  const remove = (): void => rmSync(home, { recursive: true, force: true });
  process.once("exit", remove);
  const close = async (): Promise<void> => {
    await Promise.all([...all].map((worker) => worker.terminate()));
    process.off("exit", remove);
    remove();
  };
  try {
    let left = size;
    const some = async (): Promise<void> => {
      while (left-- > 0) idle.push(await start());
    };
    await Promise.all(Array.from({ length: availableParallelism() }, some));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    run: async (job, url, signal) => {
      const worker = idle.pop() ?? (await start());
      const report = await runOne(worker, { job, url }, signal);
      idle.push(worker);
      return report;
    },
    close,
  };
}

function runOne(worker: Worker, order: WorkerOrder, signal: AbortSignal): Promise<WorkerReport> {
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      worker.off("message", onMessage).off("error", onError).off("exit", onExit);
      signal.removeEventListener("abort", onAbort);
      settle();
    };
    const onMessage = (report: WorkerReport): void => end(() => resolve(report));
    const onError = (error: unknown): void => end(() => reject(error instanceof Error ? error : new Error(String(error))));
    const onExit = (code: number): void => end(() => reject(new Error(`the Ruflo thread ended with code ${code}`)));
    // The engine cannot be stopped within a step: the thread goes, and the gateway sees its client leave.
    const onAbort = (): void => {
      void worker.terminate();
      end(() => reject(signal.reason instanceof Error ? signal.reason : new Error("stopped")));
    };
    worker.on("message", onMessage).on("error", onError).on("exit", onExit);
    signal.addEventListener("abort", onAbort);
    if (signal.aborted) onAbort();
    else worker.postMessage(order);
  });
}

/** Everything Ruflo asks of its environment; keys of real providers stay outside. */
function environment(packages: string, home: string, receipts: boolean): NodeJS.ProcessEnv {
  const { PATH, TMPDIR } = process.env;
  return {
    ...(PATH === undefined ? {} : { PATH }),
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    HOME: home,
    RUFLO_PROVIDER: "openrouter",
    OPENROUTER_API_KEY: "local",
    RUFLO_CLI_ROOT: v3Root(packages),
    ...(receipts ? {} : { TOPAS_RECEIPTS: "off" }),
  };
}
