import { createPolicy, describePolicy, policyIds, type PolicyInfo } from "@topas/core";
import type { Command } from "commander";

interface PoliciesFlags {
  readonly json?: true;
  readonly variants?: true;
}

/** `topas policies`: what can be named after `--policy`. */
export function policiesCommand(program: Command): void {
  program
    .command("policies")
    .description("list every scheduling policy with its parts, source and options")
    .option("--json", "print an array of objects with every option")
    .option("--variants", "also list -o (skip what does not fit) and -g (bounded skipping) of every key order")
    .action((flags: PoliciesFlags) => {
      const infos = policyIds({ variants: flags.variants === true }).map((id) => describePolicy(createPolicy(id)!));
      console.log(flags.json === true ? JSON.stringify(infos, null, 2) : policyTable(infos));
    });
}

/** Left-aligned columns; the last one is not padded. */
export function policyTable(infos: readonly PolicyInfo[]): string {
  const rows = [["policy", "order", "reserve", "evict", "preempt", "source", "options"], ...infos.map(row)];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((cells) => cells[column]!.length)));
  const lines = rows.map((cells) => cells.map((cell, i) => (i < cells.length - 1 ? cell.padEnd(widths[i]!) : cell)).join("  "));
  const notes = [
    "",
    "Key orders also take a suffix: -o skips what does not fit, -g skips within bounds (topas policies --variants).",
    "* experiments only: it needs to know the future, so no gateway runs it.",
  ];
  return [...lines.map((line) => line.trimEnd()), ...notes].join("\n");
}

function row(info: PolicyInfo): string[] {
  const { order, reserve, evict, preempt } = info.composition;
  const name = info.experimentsOnly ? `${info.id} *` : info.id;
  return [name, order, reserve, evict, preempt, info.source, options(info)];
}

/** The options this policy reads; a value that nobody set is left out. */
function options(info: PolicyInfo): string {
  const values = info.options as unknown as Readonly<Record<string, unknown>>;
  return info.knobs
    .filter((knob) => values[knob] !== null)
    .map((knob) => `${knob}=${text(values[knob])}`)
    .join(" ");
}

function text(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return Object.entries(value)
    .map(([key, inner]) => `${key}:${String(inner)}`)
    .join(",");
}
