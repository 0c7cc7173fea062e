import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { replacePrivateFile } from "../../core/util/private-file.ts";

/** The last valid content of projects' files, which counts while a file is broken: breaking it loosens nothing. */
export interface LastValid {
  /** Resolves to `undefined` if the file was never valid here. Never rejects. */
  read(path: string): Promise<string | undefined>;
  /** Keeps the content of a valid file. Never rejects: without the state folder nothing is kept. */
  keep(path: string, text: string): Promise<void>;
}

/** Keeps the contents in the state folder, a small file (0600) for each project. */
export function lastValidIn(stateFolder: string): LastValid {
  const folder = join(stateFolder, "projects");
  const nameOf = (path: string) => `${createHash("sha256").update(path).digest("hex")}.yaml`;
  const read = async (path: string) => await readFile(join(folder, nameOf(path)), "utf8").catch(() => undefined);
  return {
    read,
    async keep(path, text) {
      if ((await read(path)) !== text) await replacePrivateFile(folder, nameOf(path), text).catch(() => undefined);
    },
  };
}
