import { defineConfig } from "vitest/config";

const conditions = ["@topas/source", "node", "import", "default"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    isolate: false,
    testTimeout: 20_000,
    reporters: ["default", "./tools/ci-reporter.ts"],
    projects: [
      {
        extends: true,
        test: { name: "unit", include: ["packages/*/src/**/*.test.ts"], exclude: ["**/*.contract.test.ts", "**/*.real.test.ts"] },
      },
      {
        extends: true,
        test: {
          name: "contract",
          include: ["packages/*/src/**/*.contract.test.ts", "packages/*/src/**/*.real.test.ts"],
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts"],
          isolate: true,
          pool: "forks",
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
