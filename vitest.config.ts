/**
 * `npm test` (the project "core"), `npm run test:system` ("system"), `npm run test:hosts` ("hosts") and `npm run coverage`. Test files
 * run in a few processes (tests start programs and change into folders), one after another in each, which share the modules of `src`
 * and what those hold.
 */
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { configDefaults, defineConfig } from "vitest/config";
import { projectRoot, readManifest } from "./scripts/lib/project.mjs";
import { shellText } from "./scripts/lib/shell-text.mjs";
import { LongestFirst } from "./scripts/vitest-order.mjs";

/** Tests that need another host, a container, a terminal pane or a second user, and tests of the suites for those. */
const HOSTS = "test/**/*.hosts.test.ts";

/**
 * Tests of "core" again, with all rows of their tables and many times their rounds and random cases (test/support/cases.ts): loops that
 * kill, races, corpora of attacks.
 */
const SYSTEM = "test/**/*.system.test.ts";

export default defineConfig({
  plugins: [shellText()],
  define: {
    __VERSION__: JSON.stringify(readManifest().version),
    __SPAWNER__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "spawner.js")).href),
    __BRIDGE__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "bridge.js")).href),
    __WEB_WORKER__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "web-worker.js")).href),
    __CONSOLE_PAGE__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "console/")).href),
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: "core",
          include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [...configDefaults.exclude, HOSTS, SYSTEM],
        },
      },
      { extends: true, test: { name: "system", include: [SYSTEM], env: { TIMES: process.env["TIMES"] ?? "10" } } },
      { extends: true, test: { name: "hosts", include: [HOSTS] } },
    ],
    pool: "forks",
    isolate: false, // a third of the time went into loading the same modules again
    sequence: { sequencer: LongestFirst },
    maxWorkers: availableParallelism() + 3, // half of their time tests wait, for processes and the disk
    chaiConfig: { truncateThreshold: 2_000 }, // who reads the summary sees what came, not its first words
    testTimeout: 60_000,
    expect: { poll: { timeout: 20_000 } }, // a second is too short on a busy machine
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    setupFiles: ["test/support/file-setup.ts"],
    globalSetup: ["scripts/vitest-build.mjs", "test/support/run-setup.ts"],
    reporters: ["default", "./scripts/vitest-summary.mjs"],
    coverage: {
      provider: "v8",
      include: ["src/core/call/**", "src/policy/**"],
      reporter: ["text", "html"],
    },
  },
});
