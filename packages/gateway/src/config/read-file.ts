import { readFileSync } from "node:fs";
import { isMap, isScalar, LineCounter, parseDocument, type Document } from "yaml";
import type { z } from "zod";
import { GatewayError } from "../errors.ts";
import { configSchema, type ConfigFile } from "./schema.ts";

const MOST_BYTES = 1024 * 1024;

/** Options of the command line that are not the file's: they make the engine, which lives as long as the gateway. */
const COMMAND_LINE = [
  "engine",
  "upstream",
  "model",
  "made",
  "kv",
  "chunk",
  "maxRunning",
  "mode",
  "gpuLayers",
  "hostTier",
  "threads",
];

type Path = readonly PropertyKey[];

export interface ReadConfig {
  readonly file: ConfigFile;
  /** `name:line` of a field as in `param`, or of the file alone. */
  readonly where: (param: string | null) => string;
}

/**
 * A configuration file, YAML or JSON (which is YAML).
 * @throws GatewayError 422 `invalid_config`: file, line, field, what is wrong and what to do.
 */
export function readConfigFile(path: string): ReadConfig {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw invalid(`${path}: cannot be read (${(error as NodeJS.ErrnoException).code ?? String(error)})`, null);
  }
  return parseConfig(text, path);
}

/** `name`: of the file, for messages. @throws GatewayError 422 `invalid_config`. */
export function parseConfig(text: string, name: string): ReadConfig {
  if (text.length > MOST_BYTES) throw invalid(`${name}: larger than ${MOST_BYTES} bytes`, null);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, prettyErrors: false });
  const [broken] = document.errors;
  if (broken !== undefined) throw invalid(`${name}:${lines.linePos(broken.pos[0]).line}: ${broken.message}`, null);
  // What an editor leaves for a moment while it saves; every default at once is nobody's wish.
  if (document.contents === null) throw invalid(`${name}: is empty: write at least one key, e.g. policy: topas-guarded`, null);
  const where = (path: Path): string => {
    const at = offsetOf(document, path);
    return at === null ? name : `${name}:${lines.linePos(at).line}`;
  };
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 20 });
  } catch (error) {
    throw invalid(`${name}: ${(error as Error).message}`, null);
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return { file: parsed.data, where: (param) => where(param === null ? [] : param.split(".")) };
  const { path, message } = fault(parsed.error.issues[0]!, document);
  throw invalid(`${where(path)}: ${message}`, path.map(String).join(".") || null);
}

function invalid(message: string, param: string | null): GatewayError {
  return new GatewayError("invalid_config", { message, param });
}

function fault(issue: z.core.$ZodIssue, document: Document): { readonly path: Path; readonly message: string } {
  const field = issue.path.map(String).join(".");
  if (issue.code === "unrecognized_keys") {
    const key = issue.keys[0]!;
    const path = [...issue.path, key];
    return { path, message: unknownKey(path.map(String).join("."), key, known(issue.path)) };
  }
  const given = document.getIn(issue.path as unknown[]);
  const shown = given === undefined || Number.isNaN(given) || isMap(given) ? "" : `, got ${JSON.stringify(given)}`;
  return {
    path: issue.path,
    message: `${field === "" ? "the file" : field}: ${issue.message.replace(/^Invalid input: /, "")}${shown}`,
  };
}

function unknownKey(field: string, key: string, names: readonly string[]): string {
  if (field === key && COMMAND_LINE.includes(key)) {
    const flag = key.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`);
    return `${key}: is set on the command line (--${flag}) and needs a restart: remove it here`;
  }
  const near = names.find((name) => name.toLowerCase() === key.toLowerCase()) ?? names.find((name) => distance(name, key) <= 2);
  const hint = near === undefined ? `use one of ${names.join(", ")}` : `did you mean "${near}"?`;
  return `${field}: unknown key: ${hint}`;
}

/** Keys that the schema has at this place. */
function known(path: Path): readonly string[] {
  let schema: z.ZodType | undefined = configSchema;
  for (const step of [...path, null]) {
    while (schema !== undefined && "unwrap" in schema) schema = (schema as z.ZodOptional<z.ZodType>).unwrap();
    const shape: Record<string, z.ZodType> = (schema as z.ZodObject | undefined)?.shape ?? {};
    if (step === null) return Object.keys(shape);
    schema = shape[String(step)];
  }
  return [];
}

/** Of the key or value at fault, or of the nearest thing around it. */
function offsetOf(document: Document, path: Path): number | null {
  const parent =
    path.length === 0
      ? document.contents
      : path.length === 1
        ? document.contents
        : document.getIn(path.slice(0, -1) as unknown[], true);
  const key = path.at(-1);
  if (isMap(parent)) {
    for (const pair of parent.items)
      if (isScalar(pair.key) && String(pair.key.value) === String(key)) return pair.key.range?.[0] ?? null;
    return parent.range?.[0] ?? null;
  }
  return path.length === 0 ? null : offsetOf(document, path.slice(0, -1));
}

/** Edit distance of two short words. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length]!;
}
