import { readFile, stat } from "node:fs/promises";
import { isMissing } from "../../util/private-file.ts";

/** API keys by the names of their variables. */
export type KeyFile = ReadonlyMap<string, string>;

/**
 * Reads lines of `NAME=value`. Skips blank lines and lines that start with #. Removes quotes around a value. Resolves
 * to `undefined` when there is no such file.
 *
 * @throws Error when other users can read it, or a line has another form.
 */
export async function readKeyFile(path: string): Promise<KeyFile | undefined> {
  try {
    const { mode } = await stat(path);
    if ((mode & 0o077) !== 0) {
      const shown = (mode & 0o777).toString(8).padStart(4, "0");
      throw new Error(`${path} has API keys and mode ${shown}, so other users can read it. Run: chmod 600 ${path}`);
    }
    return parse(await readFile(path, "utf8"), path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function parse(text: string, path: string): KeyFile {
  const keys = new Map<string, string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "" || line.trim().startsWith("#")) continue;
    const [, name, value] = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Error(`${path}, line ${index + 1}: expected NAME=value, as OPENAI_API_KEY=…`);
    }
    keys.set(name, value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return keys;
}
