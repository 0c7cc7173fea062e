import { accessSync, constants, statSync } from "node:fs";

/** Whether there is a program at a path that we may start. Never throws. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile(); // folders are executable too
  } catch {
    return false;
  }
}
