// The suite that every backend passes, with the real bubblewrap. Skipped, loudly, where there is none.
import { afterAll, describe, expect, test } from "vitest";
import { backendSuite } from "../../src/testing/index.ts";
import { noSandbox, world, worldFolder } from "./world.ts";

test("there is a sandbox to try", ({ skip }) => {
  skip(noSandbox !== undefined && process.env["CI"] !== "true", `${noSandbox}: the suite is not run in it`);
  expect(noSandbox).toBeUndefined();
});

describe.skipIf(noSandbox !== undefined)("in a sandbox", () => {
  const root = worldFolder();
  backendSuite(
    {
      name: "sandbox(local)",
      open: async () => (await world({ root, detached: true })).backend,
      detached: true,
      ids: "other", // inside, processes have numbers of their own
    },
    { describe, test, afterAll },
  );
});
