/**
 * A vitest reporter whose last line is the count, for people and for programs.
 *
 * In:  vitest's results.
 * Out: `N passed, N failed` alone on a line, with `, N skipped` after it if there are any. A file that could not be
 *      loaded, and an error outside any test, count as failed. Before it: why tests were skipped, and a line for each
 *      failure: `failed: FILE > TEST (MESSAGE)`. `.ci/run` reads these lines. If TEST_RECORD names a file, a line of JSON
 *      is appended to it for each test, `{ file, title, state }`, which scripts/check-seeds.mjs reads.
 */
import { appendFileSync } from "node:fs";
import { relative } from "node:path";

/** @import { Reporter, SerializedError, TestModule } from "vitest/node" */

/** @implements {Reporter} */
export default class SummaryReporter {
  /**
   * @param {ReadonlyArray<TestModule>} modules
   * @param {ReadonlyArray<SerializedError>} unhandledErrors
   */
  onTestRunEnd(modules, unhandledErrors) {
    const record = process.env["TEST_RECORD"];
    if (record !== undefined) appendFileSync(record, modules.map(recordOf).join(""));
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) countModule(module, counts);
    const reasons = new Set(modules.flatMap(reasonsToSkip));
    for (const reason of reasons) process.stdout.write(`skipped: ${reason}\n`);
    const failures = [...modules.flatMap(failuresOf), ...unhandledErrors.map(unhandled)];
    for (const failure of failures) process.stdout.write(`failed: ${failure}\n`);
    const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : "";
    process.stdout.write(`${counts.passed} passed, ${counts.failed} failed${skipped}\n`);
  }
}

/**
 * @param {TestModule} module
 * @returns {string} lines of JSON
 */
function recordOf(module) {
  const tests = [...module.children.allTests()].map((test) => ({
    file: module.relativeModuleId,
    title: test.name,
    state: test.result().state,
  }));
  return tests.map((test) => `${JSON.stringify(test)}\n`).join("");
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
function failuresOf(module) {
  const file = module.relativeModuleId;
  const tests = [...module.children.allTests("failed")];
  if (tests.length > 0) return tests.map((test) => `${file} > ${test.fullName}${because(test.result().errors)}`);
  if (module.state() !== "failed") return [];
  const suites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
  return [`${file} > outside of its tests${because([...module.errors(), ...suites])}`];
}

/**
 * @param {SerializedError} error vitest adds the file that ran in that process when it occurred
 * @returns {string}
 */
function unhandled(error) {
  const file = error["VITEST_TEST_PATH"];
  const where = typeof file === "string" ? relative(process.cwd(), file) : "an unknown file";
  return `${where} > an unhandled error${because([error])}`;
}

/**
 * @param {ReadonlyArray<{ message: string }> | undefined} errors
 * @returns {string} the first line of the first message, in brackets
 */
function because(errors) {
  const [line = ""] = (errors?.[0]?.message ?? "").split("\n");
  return line === "" ? "" : ` (${line.slice(0, 500)})`;
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
    // "pending" is a test that was not started because the run was stopped.
    if (state === "skipped" || state === "pending") counts.skipped += 1;
  }
  // A failed module without a failed test could not be loaded, or failed in a hook.
  counts.failed += failed === 0 && module.state() === "failed" ? 1 : failed;
}
