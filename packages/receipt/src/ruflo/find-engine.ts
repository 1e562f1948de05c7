import { existsSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** The module of the v3 engine that holds its workflow tools, inside the package. */
export const WORKFLOW_TOOLS = "dist/src/mcp-tools/workflow-tools.js";

export interface Where {
  /** `RUFLO_CLI_ROOT`: the folder of `@claude-flow/cli`. */
  readonly root?: string | undefined;
  /** The program that Node was asked to run: the engine nearest to it is the one that it will load. */
  readonly program?: string | undefined;
  readonly cwd: string;
}

/** Folder of `@claude-flow/cli`; null: none here. An explicit root is believed or refused, never replaced by another one. */
export function findEngine({ root, program, cwd }: Where): string | null {
  if (root !== undefined && root !== "") return hasTools(root) ? resolve(root) : null;
  return (program === undefined ? null : above(realPath(program))) ?? above(cwd);
}

function above(start: string): string | null {
  for (let at = resolve(start); ; at = dirname(at)) {
    if (at.endsWith(join("@claude-flow", "cli")) && hasTools(at)) return at;
    const inside = join(at, "node_modules", "@claude-flow", "cli");
    if (hasTools(inside)) return realPath(inside);
    if (dirname(at) === at) return null;
  }
}

function hasTools(root: string): boolean {
  return existsSync(join(root, WORKFLOW_TOOLS));
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
