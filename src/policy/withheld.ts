import { protectedFile } from "./protected.ts";
import type { Rules } from "./rules/rules.ts";
import { sensitive } from "./sensitive.ts";

/**
 * Why a path below an open folder stays closed: if named itself, it would be asked about or denied. `undefined`: it is
 * open.
 */
export type Withheld = (operation: "read" | "write", path: string) => string | undefined;

/** Decides by the names of files and by the user's rules. */
export function createWithheld(rules: Pick<Rules, "withheld">): Withheld {
  return (operation, path) =>
    (operation === "write" ? protectedFile(path) : undefined) ?? sensitive(path) ?? rules.withheld(operation, path);
}
