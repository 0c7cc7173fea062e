/**
 * A vitest reporter whose last line is the count, for people and for programs that read it.
 *
 * In:  vitest's results. Out: `N passed, N failed` alone on a line, `, N skipped` behind it when there are any. A file that could
 *      not be loaded, and an error outside any test, count as failed. Before it, why tests were skipped, and which passed only at a second try.
 */

/** @import { Reporter, TestModule } from "vitest/node" */

/** @implements {Reporter} */
export default class SummaryReporter {
  /**
   * @param {ReadonlyArray<TestModule>} modules
   * @param {ReadonlyArray<unknown>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) countModule(module, counts);
    const reasons = new Set(modules.flatMap(reasonsToSkip));
    for (const reason of reasons) process.stdout.write(`skipped: ${reason}\n`);
    for (const name of modules.flatMap(triedAgain)) process.stdout.write(`passed only at a second try: ${name}\n`);
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}

/**
 * @param {TestModule} module
 * @returns {string[]}
 */
function reasonsToSkip(module) {
  return [...module.children.allTests("skipped")].flatMap((test) => {
    const result = test.result();
    return result.state === "skipped" && result.note ? [result.note] : [];
  });
}

/**
 * @param {TestModule} module
 * @returns {string[]}
 */
function triedAgain(module) {
  const tests = [...module.children.allTests("passed")];
  return tests
    .filter((test) => (test.diagnostic()?.retryCount ?? 0) > 0)
    .map((test) => {
      const [why = ""] = (test.result().errors?.[0]?.message ?? "").split("\n");
      return `${module.relativeModuleId} > ${test.fullName}${why === "" ? "" : ` (at first: ${why.slice(0, 300)})`}`;
    });
}

/**
 * @param {TestModule} module
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
function countModule(module, counts) {
  let failed = 0;
  for (const test of module.children.allTests()) {
    const { state } = test.result();
    if (state === "failed") failed += 1;
    if (state === "passed") counts.passed += 1;
    // "pending" is a test that a stop of the run kept from starting.
    if (state === "skipped" || state === "pending") counts.skipped += 1;
  }
  // A module that fails without a failed test did not load, or failed in a hook around its tests.
  counts.failed += failed === 0 && module.state() === "failed" ? 1 : failed;
}
