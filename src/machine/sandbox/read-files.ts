import { readFileSync, statSync } from "node:fs";
import { bytesOf } from "../../core/util/byte-paths.ts";
import { tried } from "../../core/util/errors.ts";

// Commands may change the file system during these calls, so none of them throws.

/** Whether a path is a folder or a link to one. */
export function isFolder(path: string): boolean {
  return tried(() => statSync(bytesOf(path)).isDirectory()) ?? false;
}

/** The text of a kernel file (/proc, /sys), as latin1; "" if it cannot be read. */
export function textOf(file: string): string {
  return tried(() => readFileSync(file, "latin1")) ?? "";
}

/** A text that differs after each change of the file; `undefined` if there is no file. */
export function versionOf(file: string): string | undefined {
  const info = tried(() => statSync(bytesOf(file), { bigint: true }));
  return info && `${info.ino} ${info.ctimeNs} ${info.size}`;
}
