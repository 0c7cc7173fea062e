import type { TestRunner } from "../../src/testing/suite.ts";

/**
 * A runner that registers the first test of each group of a suite: enough where every part of a backend has passed the whole suite elsewhere, and
 * only their connection is new.
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
