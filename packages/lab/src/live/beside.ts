import { createRng, type SimTask } from "@topas/sim";
import type { PlainTasks } from "./plain-player.ts";

/** Traffic of others on the same engine, whose tails must not suffer: chats of one call, and long calls that nobody waits for. */
export interface Beside {
  readonly chats: number;
  readonly backgrounds: number;
  /** Tokens of the system prompt, of the question, and of the answer on average. */
  readonly chat: readonly [prefix: number, prompt: number, output: number];
  readonly background: readonly [prefix: number, prompt: number, output: number];
}

/** Of the workload's own arrivals, by which those beside it begin no earlier and end while the last jobs still run. */
const SPAN_FACTOR = 1.5;

/** Arrivals uniform from the workload's first to somewhat after its last; a function of those and the seed alone. */
export function besideTasks(beside: Beside, arrivals: readonly number[], seed: number): PlainTasks {
  const fromSeconds = Math.min(...arrivals);
  const spanSeconds = SPAN_FACTOR * (Math.max(...arrivals) - fromSeconds);
  const rng = createRng(seed).split("beside");
  const make = (kind: "chat" | "background", count: number): { prefix: number; tasks: SimTask[] } => {
    const [prefix, promptTokens, mean] = beside[kind];
    const own = rng.split(kind);
    const tasks = Array.from({ length: count }, (_, i): SimTask => {
      const outputTokens = Math.max(4, Math.round(own.lognormal(mean, 0.3)));
      // The longer limit is all a receipt has to tell a background call by.
      const round = { promptTokens, outputTokens, maxTokens: 2 * mean, toolWaitSeconds: 0 };
      const stages = [{ id: "answer", agent: kind, rounds: [{ ...round, outputTokens: Math.min(outputTokens, 2 * mean) }] }];
      const graph = { stages: [{ id: "answer", agent: kind, expectedOutputTokens: mean }], edges: [] };
      return { id: `${kind}-${i + 1}`, arrivalSeconds: fromSeconds + own.float() * spanSeconds, workflow: kind, graph, stages };
    });
    return { prefix, tasks };
  };
  const [chat, background] = [make("chat", beside.chats), make("background", beside.backgrounds)];
  return {
    agents: [
      { name: "chat", prefixTokens: chat.prefix },
      { name: "background", prefixTokens: background.prefix },
    ],
    tasks: [...chat.tasks, ...background.tasks],
  };
}

export const classOfBeside = (id: string): "chat" | "background" => (id.startsWith("chat-") ? "chat" : "background");
