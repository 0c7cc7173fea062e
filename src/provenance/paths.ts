import { type Base, isInside } from "../util/paths.ts";
import { keyPaths, sensitive } from "./keys.ts";
import { startUpFile } from "./start-up.ts";

/**
 * What a path is, by its name. "key": keys, tokens, passwords, sessions, where programs keep them. "secret": a file
 * that is called like one, anywhere. "start-up": what shells, git, editors, package managers and agents run or obey,
 * which matters when it is written. `holds` is for people.
 */
export interface PathKind {
  readonly kind: "key" | "secret" | "start-up";
  readonly holds: string;
}

/** A path as written (absolute) and where it leads: it is what either of them is. */
export interface NamedPath {
  readonly path: string;
  readonly real: string;
}

/**
 * Says what a path is. `undefined`: an ordinary file. `root` is the folder for which somebody has opened it: a
 * workspace in a key folder is no key.
 */
export type PathKinds = (use: "read" | "write", named: NamedPath, root?: string) => PathKind | undefined;

/**
 * Returns the one function that says what a path is, for every tool and both regimes. `hidden` are further real paths
 * that the sandbox hides from commands.
 */
export function pathKinds(base: Base, hidden: readonly string[] = []): PathKinds {
  const list = [...keyPaths(base), ...hidden.map((at) => ({ at, holds: "what the sandbox hides from commands" }))];
  const keptAt = (path: string, root: string | undefined) => {
    return list.find(({ at }) => isInside(path, at) && !(root !== undefined && isInside(root, at)))?.holds;
  };

  return (use, { path, real }, root) => {
    const either = (of: (path: string) => string | undefined) => of(path) ?? (real === path ? undefined : of(real));
    const startUp = use === "write" ? either(startUpFile) : undefined;
    if (startUp !== undefined) return { kind: "start-up", holds: startUp };
    const kept = either((each) => keptAt(each, root));
    const secret = either(sensitive);
    if (kept !== undefined) return { kind: "key", holds: secret ?? kept };
    return secret === undefined ? undefined : { kind: "secret", holds: secret };
  };
}

/** A folder or file about which somebody has said whether tools may touch it. */
export interface Root {
  readonly path: string;
  readonly allows: boolean;
  readonly rule: "workspace" | "allowed_roots" | "temporary" | "forbidden_paths" | "state";
  /** True: it is on the default list. */
  readonly isDefault?: boolean;
  /** True: its real path is not looked up. */
  readonly isFinal?: boolean;
}

/**
 * Returns the root that decides where a path is: first Handrail's own, then the longest; a tie forbids. `undefined`: it
 * is outside.
 */
export function rootOf(path: string, roots: readonly Root[]): Root | undefined {
  let best: Root | undefined;
  for (const root of roots) {
    if (!isInside(path, root.path)) continue;
    if (root.rule === "state") return root;
    if (best === undefined || root.path.length > best.path.length) best = root;
    else if (root.path.length === best.path.length && !root.allows) best = root;
  }
  return best;
}
