import { ToolFailure } from "../../contract/failure.ts";
import { codeOf, messageOf } from "../../util/errors.ts";

/** A system error about a path, in words for a model: what was tried, what is there. */
export function fileFailure(error: unknown, path: string): ToolFailure {
  if (error instanceof ToolFailure) return error;
  const code = codeOf(error);
  const told = code === undefined ? undefined : MESSAGES[code];
  return new ToolFailure(told === undefined ? `${path}: ${messageOf(error)}` : `${told}: ${path}`, { cause: error });
}

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
