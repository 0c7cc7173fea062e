import { createHash } from "node:crypto";
import { constants, type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { codeOf, messageOf, tried } from "../../core/util/errors.ts";
import { isInside } from "../../core/util/paths.ts";
import { readRange } from "../../core/util/private-file.ts";

/** The content of a file, read once: exactly this content is validated, shown and trusted. */
export interface Source {
  readonly text: string;
  /** The SHA-256 of the bytes, in hexadecimal. */
  readonly sha256: string;
}

export type ReadSource =
  | { readonly ok: true; readonly source: Source }
  | { readonly ok: false; readonly message: string };

/** The maximum size of a configuration file. People write it by hand. */
const MAX_BYTES = 1024 * 1024;

/**
 * Reads a configuration file. Never rejects and never blocks: refuses a FIFO or a device. With `within`, a real folder,
 * refuses a link that leads out of it. Otherwise the author of a project could link to a file of the user's and learn
 * its content from the errors.
 */
export async function readSource(path: string, within = "/"): Promise<ReadSource> {
  try {
    const real = await realpath(path);
    if (!isInside(real, within)) {
      const message = `not read, because it links to ${real}, which is outside its folder. Put the file itself there`;
      return { ok: false, message };
    }
    // O_NONBLOCK: opening a FIFO must not block.
    const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
    try {
      const opened = process.platform === "linux" ? await readlink(`/proc/self/fd/${file.fd}`) : real;
      if (opened !== real) return { ok: false, message: "it was replaced while it was read; try again" };
      return await readOpen(file);
    } finally {
      await file.close();
    }
  } catch (error) {
    return { ok: false, message: `cannot be read: ${REASONS[codeOf(error) ?? ""] ?? messageOf(error)}` };
  }
}

/** The content of a file that was read before. */
export function sourceOf(text: string): Source {
  return { text, sha256: createHash("sha256").update(text).digest("hex") };
}

async function readOpen(file: FileHandle): Promise<ReadSource> {
  const info = await file.stat();
  if (info.isDirectory()) return { ok: false, message: "this is a folder, expected a file" };
  if (!info.isFile()) return { ok: false, message: "this is a pipe, a socket or a device, expected a regular file" };
  const bytes = await readRange(file, 0, MAX_BYTES + 1);
  if (bytes.length > MAX_BYTES)
    return { ok: false, message: `larger than ${MAX_BYTES} bytes: this is not a configuration` };
  const text = tried(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  if (text === undefined) return { ok: false, message: "this is not UTF-8 text; save it as UTF-8" };
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { ok: true, source: { text, sha256 } };
}

const REASONS: { readonly [code: string]: string } = {
  ENOENT: "there is no such file",
  ENOTDIR: "there is no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  ELOOP: "its links lead in a circle",
  ENXIO: "this is a socket or a device without anything behind it",
  EISDIR: "this is a folder, expected a file",
};
