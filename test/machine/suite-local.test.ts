import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { local } from "../../src/machine/local/backend.ts";
import { backendSuite } from "../suites/index.ts";
import { temporaryFolder } from "../support/workspace.ts";

const root = temporaryFolder();
const [workDir, home] = [join(root, "work"), join(root, "home")];
for (const folder of [workDir, home]) mkdirSync(folder);

backendSuite(
  {
    name: "local",
    open: () => local({ workDir, home, outputFolder: join(root, "outputs"), jobFolder: join(root, "detached") }),
    detached: true,
  },
  { describe, test, afterAll },
);
