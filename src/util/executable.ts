import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { tried } from "./errors.ts";

/** Whether a path is a program that this process may start. Never throws. */
export function isExecutable(path: string): boolean {
  const isFile = tried(() => {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // folders are executable too
  });
  return isFile === true;
}

/**
 * Returns the path of a program: in the `first` folders, then on the PATH. Skips relative folders, which could be in
 * the workspace.
 */
export function onPath(program: string, first: readonly string[] = []): string | undefined {
  const folders = [...first, ...(process.env["PATH"] ?? "").split(delimiter)].filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}
