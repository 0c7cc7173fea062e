/**
 * Vitest runs this for each test file. Keeps the state, the configuration and the terminal of the person who runs the
 * tests out of them. Restores the environment and the current folder for the next file in the process, and closes what
 * the file opened.
 */
import { join } from "node:path";
import { afterAll, inject } from "vitest";
import { cleanUpAfterFile } from "./after-file.ts";

process.env["XDG_STATE_HOME"] = join(inject("runFolder"), "state");
process.env["XDG_CONFIG_HOME"] = join(inject("runFolder"), "config");
process.env["TERM"] = "xterm-256color";
delete process.env["NO_COLOR"];
delete process.env["FORCE_COLOR"];

const env = { ...process.env };
const folder = process.cwd();

afterAll(async () => {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  await cleanUpAfterFile();
});
