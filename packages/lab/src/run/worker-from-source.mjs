// Starts worker.ts in a source checkout, where a thread needs the loader and the export condition that bin/topas.js gives the main one.
import { register } from "node:module";

const tsx = await import("tsx/esm/api");
tsx.register();
register(
  `data:text/javascript,${encodeURIComponent(
    `export const resolve = (specifier, context, next) => next(specifier, { ...context, conditions: [...context.conditions, "@topas/source"] });`,
  )}`,
);
await import("./worker.ts");
