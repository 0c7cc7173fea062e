import { type Base, absolutePath, isInside } from "../../core/util/paths.ts";

/** A rule for paths: absolute, without `.` and `..`. */
export interface PathPattern {
  matches(path: string): boolean;
  /** The folder or file that the pattern names with everything below, if its only wildcard is a `/**` at the end. */
  readonly root: string | undefined;
  /** Whether the pattern names one file or folder, without wildcards. */
  readonly isLiteral: boolean;
}

/**
 * Reads a pattern of paths: `*` is any part of a name, `**` any folders, `?` one character. A pattern that begins with
 * `/`, `//` or `~/` is absolute; a name without a slash applies in every folder, as in a .gitignore; any other pattern
 * is under the working directory. A folder includes everything under it.
 */
export function pathPattern(text: string, base: Base): PathPattern {
  const isLiteral = !/[*?]/.test(text);
  const stem = text.replace(/^\/\//, "/").replace(/\/\*\*$/, "") || "/";
  if (/[*?]/.test(stem) || !stem.includes("/")) {
    const anywhere = stem.replace(/\/$/, "").includes("/") ? stem : `//**/${stem}`;
    const expression = expressionOf(anywhere.startsWith("//") ? anywhere.slice(1) : absolutePath(anywhere, base));
    return { matches: (path) => expression.test(path), root: undefined, isLiteral };
  }
  const root = absolutePath(stem, base);
  return { matches: (path) => isInside(path, root), root, isLiteral };
}

/** Matches segment by segment. Paths below a matching path match too. */
function expressionOf(path: string): RegExp {
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map((part) =>
      part === "**"
        ? "(?:/[^/]+)*"
        : `/${part
            .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
            .replace(/\*+/g, "[^/]*")
            .replace(/\?/g, "[^/]")}`,
    );
  return new RegExp(`^${parts.join("")}(?:/.*)?$`, "s");
}
