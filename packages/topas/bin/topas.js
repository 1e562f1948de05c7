#!/usr/bin/env node
// From a source checkout: run the TypeScript sources in this process. From a published package: run dist.
import { existsSync } from "node:fs";
import { register } from "node:module";

const source = new URL("../src/main.ts", import.meta.url);
if (existsSync(source)) {
  const tsx = await import("tsx/esm/api");
  tsx.register();
  register(
    `data:text/javascript,${encodeURIComponent(
      `export const resolve = (specifier, context, next) => next(specifier, { ...context, conditions: [...context.conditions, "@topas/source"] });`,
    )}`,
  );
  await import(source.href);
} else {
  await import("../dist/main.js");
}
