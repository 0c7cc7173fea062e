import { protectedFile } from "./protected.ts";
import type { Rules } from "./rules/rules.ts";
import { sensitive } from "./sensitive.ts";

/** Why a path below an open folder stays closed: named itself it is asked about or denied. `undefined`: it does not. */
export type Withheld = (operation: "read" | "write", path: string) => string | undefined;

/** The same by what a file's name says it holds, and by people's rules. */
export function createWithheld(rules: Pick<Rules, "withheld">): Withheld {
  return (operation, path) =>
    (operation === "write" ? protectedFile(path) : undefined) ?? sensitive(path) ?? rules.withheld(operation, path);
}
