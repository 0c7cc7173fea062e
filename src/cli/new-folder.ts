import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { oneLine } from "../output/terminal-text.ts";
import { codeOf } from "../util/errors.ts";

/** A file of a new project. */
export interface TemplateFile {
  readonly name: string;
  readonly text: string;
  readonly isProgram?: boolean;
}

/**
 * Throws if a name cannot be that of a new folder, a package and a program.
 *
 * @param command the command that got the name, for the message: "plugin new"
 */
export function requireName(name: string, command: string): void {
  if (/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return;
  throw new Error(`${command}: expected a name of small letters, digits and "-", got ${oneLine(name, 100)}`);
}

/**
 * Writes files to a new folder in `within`. Resolves to their paths, for people.
 *
 * @throws Error if the folder exists.
 */
export async function writeFolder(
  within: string,
  name: string,
  files: readonly TemplateFile[],
  command: string,
): Promise<string> {
  try {
    await mkdir(join(within, name));
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    throw new Error(`${command}: there is a file or a folder ${name} here; choose another name`, { cause: error });
  }
  for (const { name: file, text, isProgram = false } of files)
    await writeFile(join(within, name, file), text, { mode: isProgram ? 0o755 : 0o644 });
  return files.map((file) => `${name}/${file.name}`).join(", ");
}
