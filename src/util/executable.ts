import { accessSync, constants, statSync } from "node:fs";

/** Whether a path is a program that this process may start. Never throws. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // folders are executable too
  } catch {
    return false;
  }
}
