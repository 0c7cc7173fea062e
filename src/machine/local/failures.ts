import type { FileInfo, FileKind } from "../../core/contract/backend.ts";
import { NotReal, ToolFailure } from "../../core/contract/failure.ts";
import { codeOf, messageOf } from "../../core/util/errors.ts";

/** Describes a system error about a path for a model. */
export function fileFailure(error: unknown, path: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const code = codeOf(error);
  const told = code === undefined ? undefined : MESSAGES[code];
  return new ToolFailure(told === undefined ? `${path}: ${messageOf(error)}` : `${told}: ${path}`, { cause: error });
}

/** Creates the error for a file that is not the approved one. `real`: its real path now, if known. */
export function changed(written: string, real?: string): NotReal {
  const message = `${written} was replaced while it was being opened; nothing was done`;
  return new NotReal(message, real === undefined ? {} : { real });
}

/** Creates the error for a file with another version than `ReplaceOptions.replaces`. */
export function otherVersion(written: string): ToolFailure {
  return new ToolFailure(`${written} was changed by another program since it was read; nothing was written`, {
    hint: "Read it again.",
  });
}

/** @throws ToolFailure unless it is a regular file. */
export function requireRegular({ kind }: Pick<FileInfo, "kind">, written: string): void {
  if (kind !== "file") throw notAFile(kind, written);
}

/** Creates the error for a path where a regular file was expected. */
export function notAFile(kind: FileKind, written: string): ToolFailure {
  return new ToolFailure(`This is ${A_KIND[kind]}, not a file: ${written}`);
}

/** Creates the error for a path where a folder was expected. */
export function notAFolder(kind: FileKind, written: string): ToolFailure {
  return new ToolFailure(`This is ${A_KIND[kind]}, not a folder: ${written}`);
}

/** Only root can give the new file to another owner. `theirs` is that owner, as `uid:gid`. */
export function notGiven(theirs: string, written: string, cause?: unknown): ToolFailure {
  return new ToolFailure(
    `${written} belongs to another user or group (${theirs}), and this user cannot keep that owner; ` +
      "the file was not changed",
    { hint: "Ask its owner to change it, or write to another path.", cause },
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
  ENOTDIR: "A part of the path is not a folder",
  EEXIST: "A part of the path is not a folder", // when a folder is to be created
  EISDIR: "This is a folder, not a file",
  EACCES: "Permission denied",
  EPERM: "Not permitted",
  ELOOP: "The links form a circle (or one was just replaced)",
  ENAMETOOLONG: "The name is too long",
  ENOSPC: "The disk is full",
  EROFS: "The file system is read-only",
  EDQUOT: "The disk quota is exceeded",
  ENOTEMPTY: "The folder is not empty",
  ENXIO: "Nothing can be read from",
};
