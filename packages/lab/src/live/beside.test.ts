import { expect, it } from "vitest";
import { besideTasks, classOfBeside, type Beside } from "./beside.ts";

const BESIDE: Beside = { chats: 20, backgrounds: 4, chat: [60, 40, 20], background: [0, 80, 160] };

it("what runs beside is a function of the workload's arrivals and the seed, and fills their span", () => {
  const { agents, tasks } = besideTasks(BESIDE, [4, 6, 10], 3);
  expect(besideTasks(BESIDE, [4, 6, 10], 3)).toEqual({ agents, tasks });
  expect(besideTasks(BESIDE, [4, 6, 10], 4).tasks).not.toEqual(tasks);
  expect(tasks.map(({ id }) => classOfBeside(id)).filter((each) => each === "chat")).toHaveLength(20);
  const arrivals = tasks.map(({ arrivalSeconds }) => arrivalSeconds);
  expect(Math.min(...arrivals)).toBeGreaterThanOrEqual(4);
  expect(Math.max(...arrivals)).toBeLessThanOrEqual(13);
  expect(Math.max(...arrivals)).toBeGreaterThan(10);
  for (const { stages } of tasks) {
    const { outputTokens, maxTokens } = stages[0]!.rounds[0]!;
    expect(outputTokens).toBeLessThanOrEqual(maxTokens!);
  }
  expect(agents).toEqual([
    { name: "chat", prefixTokens: 60 },
    { name: "background", prefixTokens: 0 },
  ]);
});
