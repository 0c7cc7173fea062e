import { type Base, isInside } from "../../core/util/paths.ts";
import { keyPaths, sensitive } from "./keys.ts";
import { startUpFile } from "./start-up.ts";

/**
 * What a path is, by its name. "key": keys, tokens, passwords, sessions, where programs keep them. "secret": a file
 * anywhere whose name suggests a secret. "start-up": what shells, git, editors, package managers and agents run or
 * obey, which matters when it is written. `holds` is for people.
 */
export interface PathKind {
  readonly kind: "key" | "secret" | "start-up";
  readonly holds: string;
}

/** A path as written (absolute) and as its real path. It is of a kind if either is. */
export interface NamedPath {
  readonly path: string;
  readonly real: string;
}

/**
 * Classifies a path. `undefined`: an ordinary file. `root` is a folder that somebody has opened for tools: a workspace
 * in a key folder does not count as a key.
 */
export type PathKinds = (use: "read" | "write", named: NamedPath, root?: string) => PathKind | undefined;

/**
 * Returns the function that classifies paths, for all tools, in the sandbox and outside. `hidden`: real paths that the
 * sandbox also hides from commands.
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

/** A folder or file that somebody has opened for tools or closed to them. */
export interface Root {
  readonly path: string;
  readonly allows: boolean;
  readonly rule: "workspace" | "allowed_roots" | "temporary" | "forbidden_paths" | "state";
  /** Whether the root is on the default list. */
  readonly isDefault?: boolean;
  /** Whether the root's real path is not looked up. */
  readonly isFinal?: boolean;
}

/**
 * Returns the root that decides about a path: first Handrail's own roots, then the longest root; a tie forbids.
 * `undefined`: the path is outside all roots.
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
