import type { OpenFile } from "../../core/contract/backend.ts";
import { formatSize } from "../../core/output/size.ts";
import { uncounted } from "../../core/util/text.ts";

/** Larger notebooks are shown as they are. Bytes: 64 MiB. */
const LARGEST = 67_108_864;

/** Base64, also with line breaks as JSON writes them. */
const BASE64 = new RegExp(uncounted("[A-Za-z0-9+/=\\\\]{1,}"), "g");

/** The shortest base64 that is left out, in characters. */
const SHORTEST = 500;

/**
 * Returns a notebook (`.ipynb`) as a file without the base64 of the pictures in its outputs. Each line stays the line
 * that it is in the file. `undefined` for other files.
 */
export async function withoutPictures(path: string, file: OpenFile): Promise<OpenFile | undefined> {
  if (!/\.ipynb$/i.test(path) || file.info.size > LARGEST) return undefined;
  const written = Buffer.from(await file.read(0, file.info.size)).toString("latin1"); // byte for byte
  const shown = written.replace(BASE64, (found) => {
    const end = found.endsWith("\\") ? "\\" : ""; // it belongs to what follows
    return found.length < SHORTEST ? found : `[${formatSize(found.length)} of base64 left out]${end}`;
  });
  if (shown === written) return undefined;
  const bytes = Buffer.from(shown, "latin1");
  return { info: file.info, read: async (from, length) => bytes.subarray(from, from + length), close: async () => {} };
}
