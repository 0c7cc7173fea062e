import { keepingAlive } from "./keeping-alive.ts";

/** Tests by their titles. */
export type CasesOf<Given> = { readonly [title: string]: (given: Given) => Promise<void> };

/** The functions of a test runner: those of Vitest and Jest as they are; `node:test` with its `after` as `afterAll`. */
export interface TestRunner {
  describe(this: void, title: string, body: () => void): unknown;
  readonly test: {
    (title: string, body: () => Promise<void>): unknown;
    skip(title: string, body: () => Promise<void>): unknown;
  };
  afterAll(this: void, body: () => Promise<void>): unknown;
}

export interface Suite<Given> {
  /** The prefix of the titles. */
  readonly name: string;
  readonly groups: readonly (readonly [title: string, cases: CasesOf<Given>])[];
  /** Titles of tests to skip, each with its reason. */
  readonly skip: { readonly [title: string]: string };
}

/**
 * Registers the tests of a suite. `run` performs one; `end` runs after all of them.
 *
 * @throws Error at once when `skip` names an unknown test.
 */
export function registerCases<Given>(
  { name, groups, skip }: Suite<Given>,
  { describe, test, afterAll }: TestRunner,
  run: (perform: (given: Given) => Promise<void>) => Promise<void>,
  end: () => Promise<void>,
): void {
  requireKnown(
    Object.keys(skip),
    groups.flatMap(([, cases]) => Object.keys(cases)),
  );
  describe(name, () => {
    for (const [group, cases] of groups) {
      describe(group, () => {
        for (const [title, perform] of Object.entries(cases)) {
          const reason = skip[title];
          // `node:test` cancels a test once nothing else keeps the process alive.
          if (reason === undefined) test(title, () => keepingAlive(run(perform)));
          else test.skip(`${title} (NOT RUN: ${reason})`, () => run(perform));
        }
      });
    }
    afterAll(end);
  });
}

function requireKnown(skipped: readonly string[], titles: readonly string[]): void {
  const unknown = skipped.find((title) => !titles.includes(title));
  if (unknown === undefined) return;
  throw new Error(`skip: expected titles of the suite's tests, got ${JSON.stringify(unknown)}, which none of them has`);
}
