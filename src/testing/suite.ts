import { randomUUID } from "node:crypto";
import type { Backend } from "../contract/backend.ts";
import { type Cases, type Differences, type Scene, createScene } from "./backend/scene.ts";

/** The functions of a test runner: those of Vitest and Jest as they are; of `node:test` with its `after` as `afterAll`. */
export interface TestRunner {
  describe(this: void, title: string, body: () => void): unknown;
  readonly test: {
    (title: string, body: () => Promise<void>): unknown;
    skip(title: string, body: () => Promise<void>): unknown;
  };
  afterAll(this: void, body: () => Promise<void>): unknown;
}

export interface Suite {
  /** Heads the titles. */
  readonly name: string;
  readonly groups: readonly (readonly [title: string, cases: Cases])[];
  readonly differences: Differences;
  /** Titles of tests that are not run, each with its reason. */
  readonly skip: { readonly [title: string]: string };
  /** A new backend at each call, all of them on one place. */
  open(): Promise<Backend>;
}

/**
 * Gives the tests to the runner. Each has a folder of its own, in one that is made in the working directory by the first test and removed at the end. All share one
 * backend; what was opened is closed.
 *
 * @throws Error at once when `skip` names a test that there is not.
 */
export function registerSuite(
  { name, groups, differences, skip, open }: Suite,
  { describe, test, afterAll }: TestRunner,
): void {
  requireKnown(
    Object.keys(skip),
    groups.flatMap(([, cases]) => Object.keys(cases)),
  );
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
    afterAll(async () => {
      const backend = await shared?.catch(() => undefined);
      await backend?.files.remove(folder).catch(() => undefined); // the tests have told what is wrong with it
      await Promise.all(opened.map((each) => each.close()));
    });
  });
}

function requireKnown(skipped: readonly string[], titles: readonly string[]): void {
  const unknown = skipped.find((title) => !titles.includes(title));
  if (unknown === undefined) return;
  throw new Error(`skip: expected titles of the suite's tests, got ${JSON.stringify(unknown)}, which none of them has`);
}
