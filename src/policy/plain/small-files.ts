import type { Files, PathOptions } from "../../contract/backend.ts";

/** The text of a file; `undefined` where none can be opened. Rejects when it cannot be read then. */
export type TextOf = (path: string, options?: PathOptions) => Promise<string | undefined>;

/** Reads the beginning of small files. One that has not changed since it was read is opened, and not read again. */
export function createTextReader(files: Files, mostBytes: number): TextOf {
  const texts = new Map<string, { readonly version: string; readonly text: string }>();

  return async (path, options) => {
    const file = await files.open(path, options).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const { version } = file.info;
      const before = texts.get(path);
      if (before?.version === version) return before.text;
      const text = Buffer.from(await file.read(0, mostBytes)).toString("utf8");
      texts.set(path, { version, text });
      return text;
    } finally {
      file.close().catch(() => undefined); // nobody has to wait for that
    }
  };
}
