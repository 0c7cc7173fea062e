import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oneLine } from "../core/output/terminal-text.ts";
import { codeOf } from "../core/util/errors.ts";
import { packageFile } from "./package-file.ts";

/** A file of the package's examples, and its name in the new folder. */
export interface Copied {
  readonly from: string;
  readonly to: string;
}

/**
 * Copies examples to a new folder with the name `name` in `within`. Their tool gets the same name, with `_` for `-`.
 * Resolves to the paths of the copies, for people.
 *
 * @param tool the name of the tool in the examples
 * @param command the command that got the name, for messages: "plugin new"
 * @throws Error if the name cannot be that of a folder, a package and a tool, or the folder exists.
 */
export async function newFolder(
  within: string,
  name: string,
  files: readonly Copied[],
  { tool, command }: { readonly tool: string; readonly command: string },
): Promise<string> {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
    throw new Error(`${command}: expected a name of small letters, digits and "-", got ${oneLine(name, 100)}`);
  try {
    await mkdir(join(within, name));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new Error(`${command}: there is a file or a folder ${name} here; choose another name`, { cause: error });
  }
  for (const { from, to } of files) {
    const text = (await readFile(packageFile(`examples/${from}`), "utf8")).replaceAll(tool, name.replaceAll("-", "_"));
    await writeFile(join(within, name, to), text, { mode: text.startsWith("#!") ? 0o755 : 0o644 });
  }
  return files.map(({ to }) => `${name}/${to}`).join(", ");
}
