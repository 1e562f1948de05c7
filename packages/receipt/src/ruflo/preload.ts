import { installFromEnvironment } from "./environment.ts";

await installFromEnvironment();
