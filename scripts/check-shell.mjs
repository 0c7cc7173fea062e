/**
 * Checks the shell programs (`.sh` files of src) with shellcheck, as POSIX sh (`.shellcheckrc`).
 *
 * In:  the sources. Out: what shellcheck reports, and its exit code. Without shellcheck one line says that nothing was
 *      checked; with CI=true that is an error.
 */
import { spawnSync } from "node:child_process";
import { filesIn } from "./lib/digest.mjs";
import { projectRoot } from "./lib/project.mjs";

const files = filesIn(projectRoot, "src").filter((path) => path.endsWith(".sh"));
const { status, error } = spawnSync("shellcheck", files, { cwd: projectRoot, stdio: "inherit" });
if (error) {
  process.stdout.write(`skipped: ${files.length} shell files were not checked; install shellcheck\n`);
  process.exitCode = process.env["CI"] === "true" ? 1 : 0;
} else process.exitCode = status ?? 1;
