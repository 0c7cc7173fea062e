import type { Effect } from "../contract/effect.ts";
import { isInside } from "../util/paths.ts";
import type { Host } from "./host.ts";

/** How a path is used: its content is read or written, its folder is listed or searched, or only its info is read. */
export type PathUse = "read" | "write" | "look" | "stat";

/**
 * Whether a call may use a path: it may; no effect covers the path; or the path is closed although its folder is open.
 */
export type Reached = "open" | "undeclared" | "closed";

/**
 * Judges paths by a call's effects and by the closed paths below the paths of the effects. Both lists may grow.
 * `written` is the absolute path as given, `real` its real path. Neither may be closed.
 */
export function createReach(
  effects: readonly Effect[],
  except: readonly string[],
  withheld: Host["withheld"],
): { reach(use: PathUse, written: string, real: string): Reached } {
  const isClosed = (kind: "read" | "write", top: string, use: PathUse, path: string): boolean => {
    const isLeftOut = (root: string) => isInside(path, root) && root !== top && isInside(root, top);
    // The existence of a closed folder is not secret: its name is listed with the others.
    if (except.some((root) => isLeftOut(root) && !(use === "stat" && path === root))) return true;
    if (use === "look" || use === "stat" || path === top) return false;
    return withheld(kind, path) !== undefined && withheld(kind, top) === undefined;
  };

  return {
    reach(use, written, real) {
      let reached: Reached = "undeclared";
      for (const effect of effects) {
        if (effect.kind !== "read" && effect.kind !== "write") continue;
        const { kind, real: top } = effect;
        if (top === undefined || !isInside(real, top) || !MAY[use].includes(kind)) continue;
        const closed = real !== top && (isClosed(kind, top, use, real) || isClosed(kind, top, use, written));
        if (!closed) return "open";
        reached = "closed";
      }
      return reached;
    },
  };
}

const MAY: { readonly [use in PathUse]: readonly Effect["kind"][] } = {
  read: ["read"],
  write: ["write"],
  look: ["read"],
  stat: ["read", "write"],
};
