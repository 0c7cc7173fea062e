/** Vitest runs this for each test file. What a file leaves in the environment, or a folder it went to, is not there for the next one in its process. */
import { afterAll } from "vitest";

const env = { ...process.env };
const folder = process.cwd();

afterAll(() => {
  process.chdir(folder);
  for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
  Object.assign(process.env, env);
});
