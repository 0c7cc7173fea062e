import type { TestRunner } from "../../src/core/util/test-cases.ts";

/**
 * Returns a runner that registers only the first test of each group of a suite. Sufficient if all parts of the backend
 * pass the whole suite elsewhere, and only their combination is new.
 */
export function smoke({ describe, test, afterAll }: TestRunner): TestRunner {
  let isFirst = false;
  const once = (register: TestRunner["test"]["skip"]): TestRunner["test"]["skip"] => {
    return (title, body) => {
      if (isFirst) register(title, body);
      isFirst = false;
    };
  };
  return {
    describe: (title, body) =>
      describe(title, () => {
        isFirst = true;
        body();
      }),
    test: Object.assign(once(test), { skip: once(test.skip) }),
    afterAll,
  };
}
