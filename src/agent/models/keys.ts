import { readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { isMissing, replacePrivateFile } from "../../core/util/private-file.ts";

/** API keys by the names of their environment variables. */
export type KeyFile = ReadonlyMap<string, string>;

/**
 * Reads lines of `NAME=value`. Skips blank lines and lines that start with #. Removes quotes around a value. Resolves
 * to `undefined` when there is no such file.
 *
 * @throws Error when other users can read the file, or a line has another form.
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

/**
 * Writes, replaces or removes (`undefined`) the line of a key. Keeps the other lines. The file is private, complete at
 * any moment, and created with its folder if needed.
 *
 * @throws Error as `readKeyFile`, and the system's error when the file cannot be written: the file is unchanged then.
 */
export async function writeKey(path: string, name: string, key: string | undefined): Promise<void> {
  const isThere = (await readKeyFile(path)) !== undefined;
  const real = isThere ? await realpath(path) : path; // a link stays a link
  const lines = isThere ? (await readFile(real, "utf8")).split("\n") : [];
  const kept = lines.filter((line) => nameIn(line) !== name && line !== "");
  const text = [...kept, ...(key === undefined ? [] : [`${name}=${key}`])].map((line) => `${line}\n`).join("");
  await replacePrivateFile(dirname(real), basename(real), text);
}

/** A line: the name, and the value without the spaces around it. */
const LINE = /^\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*$/;

function nameIn(line: string): string | undefined {
  return LINE.exec(line)?.[1];
}

function parse(text: string, path: string): KeyFile {
  const keys = new Map<string, string>();
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "" || line.trim().startsWith("#")) continue;
    const [, name, value] = LINE.exec(line) ?? [];
    if (name === undefined || value === undefined) {
      throw new Error(`${path}, line ${index + 1}: expected NAME=value, as OPENAI_API_KEY=…`);
    }
    keys.set(name, value.replace(/^(["'])(.*)\1$/, "$2"));
  }
  return keys;
}
