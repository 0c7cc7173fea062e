/**
 * What modules that tests share have to clean up. Such a module is loaded once for all test files of a process, so that an `afterAll` at its
 * top level would hold for the first of them only.
 */
const cleanups: (() => unknown)[] = [];

/** Runs `cleanup` at the end of each test file of this process, from this one on. */
export function afterFile(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** Runs all of them, the last one first. Rejects, when all have run, with what the first that failed threw. */
export async function cleanUpAfterFile(): Promise<void> {
  const errors: unknown[] = [];
  for (const cleanup of cleanups.toReversed()) {
    try {
      await cleanup();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
