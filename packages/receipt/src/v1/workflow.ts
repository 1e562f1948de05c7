import * as z from "zod";
import { EDGES_MAX, LOOPS_MAX, STAGES_MAX } from "../names.ts";
import { Loop, Stage } from "./stage.ts";
import { Text, maybe } from "./text.ts";

/**
 * The workflow graph, or the part of it that is known so far. Cycles are legal when `loops` declares them.
 * `barrier`: the framework starts a level only when the whole level before it is done (super-steps).
 * The schema says nothing about the shape: `checkGraph` does.
 */
export const Workflow = z.object({
  stages: z.array(Stage).min(1).max(STAGES_MAX),
  edges: maybe(z.array(z.tuple([Text, Text])).max(EDGES_MAX)),
  loops: maybe(z.array(Loop).max(LOOPS_MAX)),
  barrier: maybe(z.boolean()),
});
export type Workflow = z.infer<typeof Workflow>;
