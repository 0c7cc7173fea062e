import type { Effect } from "../contract/effect.ts";
import { isInside } from "../util/paths.ts";
import type { Host } from "./host.ts";

/** What is done with a path: its content read or written, its folder looked through, or only whether it is there. */
export type PathUse = "read" | "write" | "look" | "stat";

/** Whether a call may use a path: it may, no effect of it names the path, or the path is closed below what it names. */
export type Reached = "open" | "undeclared" | "closed";

/**
 * Judges paths by a call's effects and by what stays closed below them; both may grow. `written` is the path as it was given, absolute,
 * `real` where it leads: neither may be closed.
 */
export function createReach(
  effects: readonly Effect[],
  except: readonly string[],
  withheld: Host["withheld"],
): { reach(use: PathUse, written: string, real: string): Reached } {
  const isClosed = (kind: "read" | "write", top: string, use: PathUse, path: string): boolean => {
    const isLeftOut = (root: string) => isInside(path, root) && root !== top && isInside(root, top);
    // That a closed folder is there is no secret: its name is listed with the others.
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
