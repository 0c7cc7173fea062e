import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import { temporaryFolder } from "../support/workspace.ts";

/** A program in TypeScript that Node runs: the path of its bundle. */
export async function bundled(source: string): Promise<string> {
  const folder = temporaryFolder();
  const input = join(folder, "program.ts");
  await writeFile(input, source);
  const file = join(folder, "program.mjs");
  await build({ input, platform: "node", logLevel: "silent", output: { file, format: "esm" } });
  return file;
}
