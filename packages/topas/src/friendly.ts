import { EngineError } from "@topas/engines";
import { GatewayError } from "@topas/gateway";
import { ImportError } from "@topas/sim";

/** Wrong use of the command line; the message says what to do. */
export class UsageError extends Error {}

/** One line for a user: what went wrong and what to do. A stack only for what we did not foresee. */
export function friendly(error: unknown): string {
  if (EngineError.isInstance(error) || GatewayError.isInstance(error)) return `topas: ${error.message} (${error.code})`;
  if (error instanceof UsageError || error instanceof ImportError || error instanceof RangeError)
    return `topas: ${error.message}`;
  const { code, path } = (error ?? {}) as NodeJS.ErrnoException;
  if (code === "EADDRINUSE")
    return `topas: the port is taken by another program: choose one with --port, or --port 0 for any free one (${code})`;
  if (code === "ENOENT") return `topas: there is no file ${path ?? ""} (${code})`;
  if (code === "EACCES" || code === "EISDIR" || code === "EPERM") return `topas: ${(error as Error).message}`;
  return `topas: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
