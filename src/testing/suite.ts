import { randomUUID } from "node:crypto";
import type { Backend } from "../contract/backend.ts";
import { type Differences, type Scene, createScene } from "./backend/scene.ts";

/** Tests by their titles. */
export type CasesOf<Given> = { readonly [title: string]: (given: Given) => Promise<void> };

/** The functions of a test runner: those of Vitest and Jest as they are; of `node:test` with its `after` as `afterAll`. */
export interface TestRunner {
  describe(this: void, title: string, body: () => void): unknown;
  readonly test: {
    (title: string, body: () => Promise<void>): unknown;
    skip(title: string, body: () => Promise<void>): unknown;
  };
  afterAll(this: void, body: () => Promise<void>): unknown;
}

export interface Suite<Given> {
  /** Heads the titles. */
  readonly name: string;
  readonly groups: readonly (readonly [title: string, cases: CasesOf<Given>])[];
  /** Titles of tests that are not run, each with its reason. */
  readonly skip: { readonly [title: string]: string };
}

export interface BackendTests extends Suite<Scene> {
  readonly differences: Differences;
  /** A new backend at each call, all of them on one place. */
  open(): Promise<Backend>;
}

/**
 * Gives the tests to the runner. Each has a folder of its own, in one that is made in the working directory by the first test and removed at the end. All share one
 * backend; what was opened is closed.
 *
 * @throws Error at once when `skip` names a test that there is not.
 */
export function registerSuite({ differences, open, ...suite }: BackendTests, runner: TestRunner): void {
  const folder = `handrail-suite-${randomUUID().slice(0, 8)}`;
  const opened: Backend[] = [];
  let shared: Promise<Backend> | undefined;
  const openOne = async (): Promise<Backend> => {
    const backend = await open();
    opened.push(backend);
    return backend;
  };

  const run = async (perform: (scene: Scene) => Promise<void>): Promise<void> => {
    shared ??= openOne();
    const scene = await createScene(await shared, { folder, differences, open: openOne });
    try {
      await perform(scene);
    } finally {
      await scene.end();
    }
  };

  registerCases(suite, runner, run, async () => {
    const backend = await shared?.catch(() => undefined);
    await backend?.files.remove(folder).catch(() => undefined); // the tests have told what is wrong with it
    await Promise.all(opened.map((each) => each.close()));
  });
}

/**
 * Gives the tests of a suite to the runner. `run` performs one; `end` is called after all of them.
 *
 * @throws Error at once when `skip` names a test that there is not.
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
          if (reason === undefined) test(title, () => run(perform));
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
