import type { FileInfo, FileKind } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { codeOf, messageOf } from "../../util/errors.ts";

/** A system error about a path, in words for a model: what was tried, what is there. */
export function fileFailure(error: unknown, path: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const code = codeOf(error);
  const told = code === undefined ? undefined : MESSAGES[code];
  return new ToolFailure(told === undefined ? `${path}: ${messageOf(error)}` : `${told}: ${path}`, { cause: error });
}

/** What was judged is no longer what stands there. */
export function changed(written: string): ToolFailure {
  return new ToolFailure(`${written} changed while it was being opened; nothing was done`);
}

/** @throws ToolFailure for what is no regular file. */
export function requireRegular({ kind }: Pick<FileInfo, "kind">, written: string): void {
  if (kind !== "file") throw notAFile(kind, written);
}

/** Something else stands where a regular file was expected. */
export function notAFile(kind: FileKind, written: string): ToolFailure {
  return new ToolFailure(`This is ${A_KIND[kind]}, not a file: ${written}`);
}

/** Something else stands where a folder was expected. */
export function notAFolder(kind: FileKind, written: string): ToolFailure {
  return new ToolFailure(`This is ${A_KIND[kind]}, not a folder: ${written}`);
}

/** Nobody but the owner can give the new file to them. `theirs` as `uid:gid`. */
export function notGiven(theirs: string, written: string, cause?: unknown): ToolFailure {
  return new ToolFailure(
    `${written} belongs to another user or group (${theirs}), whom this user cannot give the new file to; it was left as it is`,
    { hint: "Have its owner change it, or write to another path.", cause },
  );
}

const A_KIND: { readonly [kind in FileKind]: string } = {
  file: "a file",
  folder: "a folder",
  fifo: "a FIFO (named pipe)",
  socket: "a socket",
  device: "a device",
};

const MESSAGES: { readonly [code: string]: string | undefined } = {
  ENOENT: "File not found",
  ENOTDIR: "Not a folder on the way to",
  EEXIST: "Not a folder on the way to", // where a folder was to be made
  EISDIR: "This is a folder, not a file",
  EACCES: "Permission denied",
  EPERM: "Not permitted",
  ELOOP: "Links lead in a circle (or one was swapped in)",
  ENAMETOOLONG: "The name is too long",
  ENOSPC: "No space is left on the disk for",
  EROFS: "The file system is read-only",
  EDQUOT: "The disk quota is used up for",
  ENOTEMPTY: "The folder is not empty",
  ENXIO: "Nothing can be read from",
};
