/**
 * `npm test` and `npm run coverage`. Each test file has a process of its own: tests start programs and change into folders.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { defineConfig } from "vitest/config";
import { projectRoot, readManifest } from "./scripts/lib/project.mjs";

export default defineConfig({
  define: {
    __VERSION__: JSON.stringify(readManifest().version),
    __SPAWNER__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "spawner.js")).href),
    __BRIDGE__: JSON.stringify(pathToFileURL(join(projectRoot, "dist", "bridge.js")).href),
  },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    pool: "forks",
    maxWorkers: "100%",
    // Where everything runs at once on a machine that others use, a test that failed is tried once more; the summary names it.
    retry: process.env["CI"] === "true" ? 1 : 0,
    chaiConfig: { truncateThreshold: 2_000 }, // who reads the summary sees what came, not its first words
    testTimeout: 30_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    globalSetup: ["scripts/vitest-build.mjs", "test/support/run-setup.ts"],
    reporters: ["default", "./scripts/vitest-summary.mjs"],
    coverage: {
      provider: "v8",
      include: ["src/engine/**", "src/policy/**"],
      reporter: ["text", "html"],
    },
  },
});
