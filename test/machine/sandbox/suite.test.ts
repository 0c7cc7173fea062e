// The backend suite, with the real bubblewrap.
import { afterAll, describe, test } from "vitest";
import { backendSuite } from "../../suites/index.ts";
import { mustBeHere } from "../../support/here.ts";
import { noSandbox, world, worldFolder } from "./world.ts";

mustBeHere("the sandbox", noSandbox);

describe.skipIf(noSandbox !== undefined)("in a sandbox", () => {
  const root = worldFolder();
  backendSuite(
    {
      name: "sandbox(local)",
      open: async () => (await world({ root })).backend,
      detached: true,
      ids: "other", // processes have other ids inside
    },
    { describe, test, afterAll },
  );
});
