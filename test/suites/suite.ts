import { randomUUID } from "node:crypto";
import type { Backend } from "../../src/core/contract/backend.ts";
import { type Suite, type TestRunner, registerCases } from "../../src/core/util/test-cases.ts";
import { type Differences, type Scene, createScene } from "./backend/scene.ts";

export interface BackendTests extends Suite<Scene> {
  readonly differences: Differences;
  /** Returns a new backend for each call, all on the same target. */
  open(): Promise<Backend>;
}

/**
 * Registers the tests. Each test has its own folder, in one that the first test creates in the working directory and
 * that is removed at the end. All share one backend; everything opened is closed.
 *
 * @throws Error at once when `skip` names an unknown test.
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
    await backend?.files.remove(folder).catch(() => undefined); // the tests report what is wrong with it
    await Promise.all(opened.map((each) => each.close()));
  });
}
