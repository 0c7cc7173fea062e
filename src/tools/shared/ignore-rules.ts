import { posix } from "node:path";
import type { Ignore } from "ignore";
import type { Files } from "../../contract/backend.ts";

/** A .gitignore larger than this is none. */
const MAX_BYTES = 256 * 1024;

/** Tells whether a folder under `root` is ignored by the .gitignore files between `root` and it. Paths are relative to `root`. */
export async function ignoreRules(root: string, files: Files): Promise<(folder: string) => Promise<boolean>> {
  const { default: ignore } = await import("ignore");
  const rules = new Map<string, Promise<Ignore | undefined>>();

  const rulesIn = (folder: string) => {
    const known = rules.get(folder) ?? read(folder);
    rules.set(folder, known);
    return known;
  };

  const read = async (folder: string): Promise<Ignore | undefined> => {
    const path = posix.join(root, folder, ".gitignore");
    const info = await files.stat(path);
    if (info?.kind !== "file") return undefined;
    const file = await files.open(path);
    try {
      return ignore().add(Buffer.from(await file.read(0, MAX_BYTES)).toString("utf8"));
    } finally {
      await file.close();
    }
  };

  return async (folder) => {
    const parts = folder.split("/");
    // A folder is ignored when it or one above it is.
    for (let depth = 1; depth <= parts.length; depth++) {
      for (let above = 0; above < depth; above++) {
        const within = await rulesIn(parts.slice(0, above).join("/"));
        if (within?.ignores(`${parts.slice(above, depth).join("/")}/`)) return true;
      }
    }
    return false;
  };
}
