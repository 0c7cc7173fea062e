import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { fitImage, imageType } from "../../core/files/image.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import type { DraftImage } from "./editor.ts";

/** Reads the image that a pasted text is the path of; `undefined` if it is none. */
export async function imageAt(pasted: string): Promise<DraftImage | undefined> {
  const path = pathIn(pasted);
  if (path === undefined) return undefined;
  try {
    const bytes = await readFile(path);
    const type = imageType(bytes);
    if (type === undefined) return undefined;
    const fitted = await fitImage(bytes, type, path);
    return {
      name: oneLine(basename(path), 40),
      data: Buffer.from(fitted.bytes).toString("base64"),
      mimeType: fitted.type,
    };
  } catch {
    return undefined; // it is pasted as text
  }
}

/** Returns the path of an image in a pasted text: as a terminal writes it when a file is dragged into it. */
function pathIn(pasted: string): string | undefined {
  const words = pasted.trim();
  if (words.includes("\n") || !/\.(?:png|jpe?g|gif|webp)["']?$/i.test(words)) return undefined;
  if (words.startsWith("file://")) return fileURLToPath(words);
  return words.replace(/^(["'])(.*)\1$/, "$2").replace(/\\(.)/g, "$1");
}
