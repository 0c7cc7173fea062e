import type { Backend } from "../core/contract/backend.ts";
import { pathKinds } from "../machine/places/paths.ts";
import type { Rules } from "./rules/rules.ts";

/**
 * Why a path below an open folder stays closed: a call that names it would be asked about or denied. `undefined`: it is
 * open.
 */
export type Withheld = (operation: "read" | "write", path: string) => string | undefined;

/** Decides by what a file is, and by the user's rules. */
export function createWithheld(
  rules: Pick<Rules, "withheld">,
  backend: Pick<Backend, "workDir" | "home" | "sandbox">,
): Withheld {
  const kindOf = pathKinds(backend, backend.sandbox?.hidden);
  return (operation, path) =>
    kindOf(operation, { path, real: path }, backend.workDir)?.holds ?? rules.withheld(operation, path);
}
