import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { tried } from "../../core/util/errors.ts";
import { realPath } from "./places.ts";

/** Returns the path of the spawner's program: a file of the built Handrail. */
export const spawnerFile = (): string => fileURLToPath(new URL(__SPAWNER__, import.meta.url));

let found: readonly string[] | undefined;

/**
 * Returns the real folders of the code that this process has loaded, and may load or start later: the built Handrail
 * (all of its package where it is installed, `dist` in a clone), and the packages that it imports. If they are in a
 * workspace, tools must not change them. Looks them up at the first call.
 */
export function ownCode(): readonly string[] {
  if (found !== undefined) return found;
  const dist = realPath(dirname(spawnerFile()));
  const root = dirname(dist);
  const packages = new Set<string>();
  importedBy(root, packages);
  return (found = [/\/node_modules\/[^/]+$/.test(root) ? root : dist, ...packages]);
}

/** Adds the folders of the packages that a package imports, as Node.js finds them, and what these import. */
function importedBy(folder: string, packages: Set<string>): void {
  const text = tried(() => readFileSync(join(folder, "package.json"), "utf8")) ?? "{}";
  const manifest = tried(() => JSON.parse(text) as { readonly [key: string]: object | undefined }) ?? {};
  const names = Object.keys({ ...manifest["dependencies"], ...manifest["optionalDependencies"] });
  for (const name of names) {
    const at = packageAt(folder, name);
    if (at === undefined || packages.has(at)) continue;
    packages.add(at);
    importedBy(at, packages);
  }
}

function packageAt(folder: string, name: string): string | undefined {
  const at = join(folder, "node_modules", name);
  if (existsSync(at)) return realPath(at);
  return folder === dirname(folder) ? undefined : packageAt(dirname(folder), name);
}
