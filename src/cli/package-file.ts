import { fileURLToPath } from "node:url";

/** Returns the path of a file that the package ships, by its path in the package. This module is two folders deep. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
