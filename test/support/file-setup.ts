/**
 * Vitest runs this for each test file. Restores the environment and the current folder for the next file in the
 * process, and closes what the file opened.
 */
import { afterAll } from "vitest";
import { cleanUpAfterFile } from "./after-file.ts";

const env = { ...process.env };
const folder = process.cwd();

afterAll(async () => {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
  await cleanUpAfterFile();
});
