/**
 * Vitest runs this for each test file. What a file leaves in the environment, or a folder it went to, is not there for the next one in its process,
 * and what it opened is closed.
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
