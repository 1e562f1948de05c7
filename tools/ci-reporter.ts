import type { Reporter, SerializedError, TestModule } from "vitest/node";

/** Ends every run with `N passed, N failed, N skipped`; import errors and late rejections count as failures. */
export default class CiReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const count = { passed: 0, failed: unhandled.length, skipped: 0 };
    for (const module of modules) {
      count.failed += module.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state === "passed" || state === "failed" ? state : "skipped"]++;
      }
    }
    console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
  }
}
