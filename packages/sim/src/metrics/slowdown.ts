import { mean, quantile } from "../stats.ts";
import type { TaskLog } from "./run-log.ts";

export interface SlowdownClass {
  readonly size: "small" | "medium" | "large";
  readonly tasks: number;
  readonly meanRatio: number;
  readonly p99Ratio: number;
}

/** Time taken over time alone, for all tasks and by thirds of their size. Null when a task does not say what it takes alone. */
export function slowdownOf(
  done: readonly TaskLog[],
): { readonly p99: number; readonly classes: readonly SlowdownClass[] } | null {
  if (done.length === 0 || done.some(({ aloneSeconds }) => !(aloneSeconds! > 0))) return null;
  const ratio = (task: TaskLog): number => (task.finishSeconds! - task.arrivalSeconds) / task.aloneSeconds!;
  const bySize = done.toSorted((a, b) => a.aloneSeconds! - b.aloneSeconds! || (a.id < b.id ? -1 : 1));
  const third = (i: number): readonly TaskLog[] =>
    bySize.slice(Math.floor((i * bySize.length) / 3), Math.floor(((i + 1) * bySize.length) / 3));
  const classes = (["small", "medium", "large"] as const).flatMap((size, i): SlowdownClass[] => {
    const ratios = third(i).map(ratio);
    return ratios.length === 0 ? [] : [{ size, tasks: ratios.length, meanRatio: mean(ratios), p99Ratio: quantile(ratios, 0.99) }];
  });
  return { p99: quantile(done.map(ratio), 0.99), classes };
}
