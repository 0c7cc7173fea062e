import { join } from "node:path";
import { rolldown } from "rolldown";
import { temporaryFolder } from "../../support/workspace.ts";
import { shellText } from "../../../scripts/lib/shell-text.mjs";

/** A module of src as a file that a program can import. `path` is relative to src. */
export async function bundled(path: string): Promise<string> {
  const input = new URL(`../../../src/${path}`, import.meta.url).pathname;
  const file = join(temporaryFolder(), "module.mjs");
  const bundle = await rolldown({ input, platform: "node", plugins: [shellText()] });
  await bundle.write({ file, codeSplitting: false });
  await bundle.close();
  return file;
}
