import { existsSync, realpathSync, statSync } from "node:fs";
import { userInfo } from "node:os";
import { realOf } from "../../git/disk.ts";
import { SECRETS_OF_HOME, SECRETS_OF_SYSTEM } from "../../places/keys.ts";
import { tried } from "../../../core/util/errors.ts";
import { absolutePath, type Base, isInside } from "../../../core/util/paths.ts";
import type { SandboxDisk } from "./sandbox-disk.ts";

/** How a path is hidden. "closed": it may not be entered; "emptied": it looks like an empty folder. */
export interface Hidden {
  /** Real path. */
  readonly path: string;
  readonly as: "closed" | "emptied";
}

/** These folders look empty: programs that find no settings continue, but programs that may not look fail. */
const EMPTIED = ["~/.config"] as const;

/** Paths in an emptied folder that can still be read. */
const REOPENED = ["~/.config/git"] as const;

/** Paths in a reopened folder that stay hidden. */
const CLOSED_AGAIN = ["~/.config/git/credentials"] as const;

export interface Homes extends Base {
  /** Real path of the account's home, if HOME names another. */
  readonly accountHome?: string;
}

export interface HiddenPaths {
  readonly hidden: readonly Hidden[];
  readonly reopened: readonly string[];
}

/**
 * Returns the real paths that contained commands do not see. If a link leads elsewhere, its target is hidden. "all"
 * keeps the names of missing paths; "existing" omits them.
 *
 * @param disk Default: this machine.
 */
export function hiddenPaths(
  more: readonly string[],
  base: Homes,
  which: "all" | "existing",
  { isThere, realOf: real }: Pick<SandboxDisk, "isThere" | "realOf"> = { isThere: existsSync, realOf },
): HiddenPaths {
  const homes = [...new Set([base.home, base.accountHome ?? base.home])];
  const wanted = (path: string) => which === "all" || isThere(path);
  const realPaths = (paths: readonly string[]) => [
    ...new Set(
      homes
        .flatMap((home) => paths.map((path) => absolutePath(path, { ...base, home })))
        .filter(wanted)
        .map(real),
    ),
  ];
  const emptied = realPaths(EMPTIED);
  const closed = realPaths([...SECRETS_OF_HOME, ...SECRETS_OF_SYSTEM, ...CLOSED_AGAIN, ...more]).filter(
    (path) => !emptied.includes(path), // these paths are hidden too; git warns about folders that it may not enter
  );
  const hidden: readonly Hidden[] = [
    ...emptied.map((path): Hidden => ({ path, as: "emptied" })),
    ...closed.map((path): Hidden => ({ path, as: "closed" })),
  ];
  return {
    // A working directory or home on the list stays visible, and / cannot be hidden.
    hidden: hidden.filter(({ path }) => path !== "/" && path !== base.workDir && path !== base.home),
    // A link that leads out of the home is not reopened.
    reopened: realPaths(REOPENED).filter((path) => emptied.some((folder) => isInside(path, folder))),
  };
}

/**
 * The path that contains the secret of a sensitive path, whose parent folder is real: the file or folder itself, or the
 * file that a link leads to. `undefined` for links to folders: they could hide the whole workspace.
 */
export function secretAt(path: string): string | undefined {
  const real = tried(() => realpathSync.native(path));
  const info = real === undefined ? undefined : tried(() => statSync(real));
  return info?.isFile() || (info?.isDirectory() && real === path) ? real : undefined;
}

/** The home of this account in the password database, independent of HOME; `undefined` if the database has none. */
export function accountHome(): string | undefined {
  return tried(() => userInfo().homedir);
}
