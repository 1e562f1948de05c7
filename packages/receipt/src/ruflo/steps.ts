import { TEXT_MAX_CHARS } from "../names.ts";

/** A step of a v3 workflow as the engine stores it. Everything is foreign data: any member may be absent or of another type. */
export interface Step {
  readonly stepId: string;
  readonly name?: string;
  readonly type?: string;
  readonly status?: string;
  readonly startedAt?: string;
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface Bounds {
  readonly max: number;
  readonly mean: number;
}

export function isTask(step: Step | undefined): boolean {
  return step?.type === "task";
}

/** Where the engine can go after step `index`: positions, or `steps.length` for the end. Conditions may jump either way. */
export function stepAfter(steps: readonly Step[], index: number): readonly number[] {
  const step = steps[index];
  const next = index + 1;
  if (step?.type !== "condition") return [next];
  const yes = jump(step, "thenStep", next, steps.length);
  const no = jump(step, "elseStep", next, steps.length);
  const truth = knownTruth(step.config?.["when"]);
  if (truth !== null) return [truth ? yes : no];
  return yes === no ? [yes] : [yes, no];
}

/** A jump outside the list ends the run (or breaks it): nothing follows. */
function jump(step: Step, name: "thenStep" | "elseStep", otherwise: number, end: number): number {
  const to = step.config?.[name];
  if (typeof to !== "number") return otherwise;
  return Number.isInteger(to) && to >= 0 && to < end ? to : end;
}

/** What the engine's own rule makes of an expression whatever the variables hold; null: it depends on them. */
function knownTruth(when: unknown): boolean | null {
  const text = typeof when === "string" && when !== "" ? when.trim() : "true";
  if (text === "true") return true;
  return /^[a-zA-Z_]\w*\s*===?\s*(['"])?[^'"]*\1?$/.test(text) ? null : false;
}

/** Ascending task steps that can make the next call when the engine goes on at `from`, and whether it can end without one. */
export function callsFrom(steps: readonly Step[], from: number): { readonly tasks: readonly number[]; readonly ends: boolean } {
  const tasks = new Set<number>();
  const seen = new Set<number>();
  const open = [from];
  let ends = false;
  while (open.length > 0) {
    const at = open.pop()!;
    if (seen.has(at)) continue;
    seen.add(at);
    if (at >= steps.length) ends = true;
    else if (isTask(steps[at])) tasks.add(at);
    else open.push(...stepAfter(steps, at));
  }
  return { tasks: [...tasks].toSorted((a, b) => a - b), ends };
}

/** Milliseconds of `wait` steps that surely pass between the call of step `index` and the next one; 0: none, or it depends. */
export function waitAfter(steps: readonly Step[], index: number): number {
  let ms = 0;
  let at = index + 1;
  for (let passed = 0; passed <= steps.length && at < steps.length && !isTask(steps[at]); passed++) {
    if (steps[at]?.type === "wait") ms += clampWait(steps[at]?.config?.["ms"]);
    const next = stepAfter(steps, at);
    if (next.length !== 1) return 0;
    at = next[0]!;
  }
  return at < steps.length && isTask(steps[at]) ? ms : 0;
}

/** The engine waits at most a minute. */
function clampWait(ms: unknown): number {
  return typeof ms === "number" && ms > 0 ? Math.min(ms, 60_000) : 0;
}

/** Stage ids: the step's name where it is printable and no other task step has it, else the engine's own step id. */
export function stageIds(steps: readonly Step[]): readonly string[] {
  const times = new Map<string, number>();
  for (const step of steps) if (isTask(step) && step.name) times.set(step.name, (times.get(step.name) ?? 0) + 1);
  const taken = new Set(steps.map((step) => step.stepId));
  return steps.map((step) => {
    const { name } = step;
    const fits = name !== undefined && name.length <= TEXT_MAX_CHARS && /^[\x20-\x7e]+$/.test(name);
    return fits && times.get(name) === 1 && !taken.has(name) ? name : step.stepId;
  });
}

/**
 * Agents as a KV cache tells them apart: the agent's id, with the stage behind it where one agent sends several system texts.
 * null: the step names no agent and neither do the variables.
 */
export function agentIds(steps: readonly Step[], stages: readonly string[], fallback: unknown): readonly (string | null)[] {
  const named = steps.map(({ config }) => text(config?.["agentId"]) ?? text(fallback));
  const texts = new Map<string, Set<unknown>>();
  steps.forEach((step, index) => {
    const agent = named[index];
    if (!isTask(step) || agent == null) return;
    texts.set(agent, (texts.get(agent) ?? new Set()).add(text(step.config?.["systemPrompt"])));
  });
  return named.map((agent, index) => (agent !== null && (texts.get(agent)?.size ?? 0) > 1 ? `${agent}/${stages[index]}` : agent));
}

function text(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

/** Laps that a condition step declares in `config.rounds: {max, mean}`: the engine ignores it, the gateway wants to know. */
export function declaredRounds(step: Step): Bounds | null {
  const rounds = step.config?.["rounds"];
  if (typeof rounds !== "object" || rounds === null) return null;
  const { max, mean } = rounds as { max?: unknown; mean?: unknown };
  if (!Number.isInteger(max) || (max as number) < 1 || (max as number) > 100_000) return null;
  const most = max as number;
  return { max: most, mean: typeof mean === "number" && mean > 0 ? Math.min(mean, most) : Math.min(most, Math.ceil(most / 2)) };
}
