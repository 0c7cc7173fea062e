/**
 * Cleans up for modules that tests share. Such a module is loaded once for all test files of a process, so an
 * `afterAll` at its top level would run only for the first of them.
 */
const cleanups: (() => unknown)[] = [];

/** Runs `cleanup` at the end of the current test file, and of later ones in this process. */
export function afterFile(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

/** Runs all of them, the last one first. Rejects afterwards with the error of the first one that failed. */
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
