/**
 * Vitest's global set-up: tests of the command line and of the MCP server run the built program.
 *
 * In:  src.
 * Out: dist, built unless it is fresh. When the build fails, the reason is printed to stderr and dist is removed, so
 *      that no test passes with an old program. With CI=true the run ends then; otherwise the tests without dist still
 *      run.
 */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { buildIfStale } from "./build.mjs";
import { projectRoot } from "./lib/project.mjs";

export async function setup() {
  try {
    await buildIfStale();
  } catch (error) {
    rmSync(join(projectRoot, "dist"), { recursive: true, force: true });
    if (process.env["CI"]) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    process.stderr.write(`build: failed, so tests of the built program will fail too: ${reason}\n`);
  }
}
