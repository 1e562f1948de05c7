import { servingRows } from "@topas/sim";
import { loadFacts, loadProfile } from "./files.ts";

/** What is known of a profile's error against published measurements, in one sentence. */
export function profileError(name: string): string {
  const points = loadFacts().serving.filter((point) => point.profile === name && point.lengths.kind === "fixed");
  const twin = name === "qwen2.5-32b-a100" ? "qwen3-32b-a100" : null;
  const used =
    points.length > 0 || twin === null
      ? points
      : loadFacts().serving.filter((point) => point.profile === twin && point.lengths.kind === "fixed");
  if (used.length === 0) return `profile ${name} has not been compared with published measurements`;
  const errors = used
    .flatMap((point) => servingRows(point, loadProfile(point.profile)))
    .filter((row) => row.metric === "totalSeconds");
  const worst = Math.max(...errors.map((row) => Math.abs(row.errorPct)));
  const whose = points.length > 0 ? name : `${name}, through its measured twin ${twin}`;
  return `${whose}: total time within ${worst.toFixed(1)} % of ${errors.length} published runs; differences below that are not to be believed`;
}
