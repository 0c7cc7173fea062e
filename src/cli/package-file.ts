import { fileURLToPath } from "node:url";

/** Returns the path of a file that the package ships, by its path in the package: dist/chunks and src/cli are two below. */
export function packageFile(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
