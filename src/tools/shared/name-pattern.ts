import { ToolFailure } from "../../core/contract/failure.ts";
import { withDeadline } from "../../core/util/deadline.ts";
import { clip } from "../../core/util/text.ts";

/** The longest pattern or glob. */
export const MAX_NAME_PATTERN = 1_000;

/** A glob matches thousands of names in milliseconds, but a chain of stars can take exponential time. */
const MATCHING_MS = 1_000;

/** Globs with at most this many stars and braces are always fast. */
const HARMLESS = 3;

/** Selects paths. Paths are relative to the searched folder; paths of folders have no slash at the end. */
export interface NamePattern {
  /** Returns the paths that match. Throws a `ToolFailure` when that takes too long. */
  pick(paths: readonly string[]): readonly string[];
  /** The pattern ends with a slash. */
  readonly foldersOnly: boolean;
  /** The pattern names `.git`, which is skipped otherwise. */
  readonly git: boolean;
  /**
   * Globs of names, for a faster search: a file that matches none of them is not selected. Empty when there is no such
   * set.
   */
  readonly names: readonly string[];
}

/** A glob, or part of a name in any case (with a slash: part of the path). "" selects everything. */
export async function namePattern(pattern: string): Promise<NamePattern> {
  const wanted = pattern.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
  const about = { foldersOnly: pattern.endsWith("/"), git: namesGit(wanted) };
  if (wanted === "") return { pick: (paths) => paths, ...about, names: [] };
  if (/[*?[{]/.test(wanted)) return { pick: await matching(wanted), ...about, names: simpleNames(wanted) };
  return { pick: containing(wanted.toLowerCase()), ...about, names: [] };
}

/** A glob of files. A glob that ends with a slash selects everything in that folder; "" selects everything. */
export async function fileGlob(glob: string): Promise<NamePattern> {
  const wanted = glob.replace(/^(!?)(?:\.?\/)+/, "$1").replace(/\/+$/, "/**");
  const about = { foldersOnly: false, git: namesGit(wanted) };
  if (wanted === "" || wanted === "!") return { pick: (paths) => paths, ...about, names: [] };
  return { pick: await matching(wanted), ...about, names: simpleNames(wanted) };
}

function containing(part: string): NamePattern["pick"] {
  const where = part.includes("/") ? (path: string) => path : nameOf;
  return (paths) => paths.filter((path) => where(path).toLowerCase().includes(part));
}

async function matching(glob: string): Promise<NamePattern["pick"]> {
  const { default: picomatch } = await import("picomatch");
  // Braces are not expanded before matching, so that {a,b}{a,b}… stays small. Flag s: a name may have a line break.
  const expression = picomatch.makeRe(glob, { dot: true, noextglob: true, maxLength: MAX_NAME_PATTERN, flags: "s" });
  // As in .gitignore, a pattern without a slash matches the name alone.
  const where = glob.includes("/") ? (path: string) => path : nameOf;
  const isMeant = (path: string) => {
    const name = where(path);
    return name === glob || expression.test(name); // a name may look like a glob: "[id].tsx"
  };
  if ((glob.match(/\*+|\{/g) ?? []).length <= HARMLESS) return (paths) => paths.filter(isMeant);
  const inTime = await withDeadline(MATCHING_MS);
  return (paths) => {
    const picked = inTime(() => paths.filter(isMeant));
    if (picked !== undefined) return picked;
    throw new ToolFailure(`the glob takes too long to match: ${clip(glob, 200)}`, {
      hint: "Use fewer stars and braces.",
    });
  };
}

/** The part after the last slash. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/**
 * Name globs from the last part of a glob, if all programs read its syntax the same way and no name ends with a dot
 * (which ripgrep's file types do not support).
 */
function simpleNames(glob: string): readonly string[] {
  const name = nameOf(glob);
  const alike = /^(?:[\w.*-]|\{[\w.*-]*[\w-](?:,[\w.*-]*[\w-])+\})*(?:[\w-]|\{[\w.*-]*[\w-](?:,[\w.*-]*[\w-])+\})$/;
  if (glob.startsWith("!") || !alike.test(name) || /\*\*|\.\./.test(name)) return [];
  const asIs = name.replace(/[{}]/g, "\\$&"); // a name may contain literal braces
  return asIs === name ? [name] : [name, asIs];
}

/** Whether a pattern names the folder `.git`: ".git/config" and "{.git,src}/**" do, "!.git" does not. */
function namesGit(pattern: string): boolean {
  return !pattern.startsWith("!") && /(^|\/)(\{([^{}/]*,)?)?\.git([/,}*?]|$)/.test(pattern);
}
