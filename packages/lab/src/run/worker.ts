import { parentPort } from "node:worker_threads";
import { doJob, type Job } from "./jobs.ts";

/** A thread of the pool: a job in, its result out. */
parentPort?.on("message", ({ index, job }: { readonly index: number; readonly job: Job }) => {
  parentPort!.postMessage({ index, result: doJob(job) });
});
