import { EngineError } from "@topas/engines";
import { GatewayError } from "@topas/gateway";

/** One line for a user: what went wrong and what to do. A stack only for what we did not foresee. */
export function friendly(error: unknown): string {
  if (EngineError.isInstance(error) || GatewayError.isInstance(error)) return `topas: ${error.message} (${error.code})`;
  const code = (error as NodeJS.ErrnoException | null)?.code;
  if (code === "EADDRINUSE")
    return `topas: the port is taken by another program: choose one with --port, or --port 0 for any free one (${code})`;
  if (code === "EACCES") return `topas: not allowed: ${(error as Error).message} (${code})`;
  return `topas: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`;
}
