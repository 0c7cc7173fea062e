import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import { temporaryFolder } from "../support/workspace.ts";
import { shellText } from "../../scripts/lib/shell-text.mjs";

/** Bundles a TypeScript program for Node. Returns the path of the bundle. */
export async function bundled(source: string): Promise<string> {
  const folder = temporaryFolder();
  const input = join(folder, "program.ts");
  await writeFile(input, source);
  const file = join(folder, "program.mjs");
  await build({ input, platform: "node", plugins: [shellText()], logLevel: "silent", output: { file, format: "esm" } });
  return file;
}
