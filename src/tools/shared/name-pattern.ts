import { ToolFailure } from "../../contract/failure.ts";
import { withDeadline } from "../../util/deadline.ts";
import { clip } from "../../util/text.ts";

/** The longest pattern or glob. */
export const MAX_NAME_PATTERN = 1_000;

/** Some thousand names take a glob some milliseconds; a chain of stars takes some names longer than anyone lives. */
const MATCHING_MS = 1_000;

/** With so few stars and braces no name takes long. */
const HARMLESS = 3;

/** Which paths are meant. Paths are relative to where the search began, those of folders without a slash at the end. */
export interface NamePattern {
  /** Those of the paths that are meant. Throws a `ToolFailure` when that takes too long. */
  pick(paths: readonly string[]): readonly string[];
  /** It ends with a slash. */
  readonly foldersOnly: boolean;
  /** It names git's own folder, which is left out otherwise. */
  readonly git: boolean;
  /** Globs of names: what matches none of them is surely not meant. None where that is not so simple. */
  readonly names: readonly string[];
}

/** A glob, or a part of a name (in any case; of the path where there is a slash in it). "" means everything. */
export async function namePattern(pattern: string): Promise<NamePattern> {
  const wanted = pattern.replace(/^(\.\/)+/, "").replace(/\/+$/, "");
  const about = { foldersOnly: pattern.endsWith("/"), git: namesGit(wanted) };
  if (wanted === "") return { pick: (paths) => paths, ...about, names: [] };
  if (/[*?[{]/.test(wanted)) return { pick: await matching(wanted), ...about, names: simpleNames(wanted) };
  return { pick: containing(wanted.toLowerCase()), ...about, names: [] };
}

/** A glob of files; one that ends with a slash means all under that folder. "" means everything. */
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
  // Braces are not expanded before matching, so that {a,b}{a,b}… cannot explode. A name may have a line break in it (flag s).
  const expression = picomatch.makeRe(glob, { dot: true, noextglob: true, maxLength: MAX_NAME_PATTERN, flags: "s" });
  // As with .gitignore, a pattern without a slash is about the name alone.
  const where = glob.includes("/") ? (path: string) => path : nameOf;
  const isMeant = (path: string) => {
    const name = where(path);
    return name === glob || expression.test(name); // names may be what a glob is made of: "[id].tsx"
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

/** What stands behind the last slash. */
export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** By the glob's last part, where it holds only what all globs mean alike, and no name that ends with a dot, which ripgrep's types do not know. */
function simpleNames(glob: string): readonly string[] {
  const name = nameOf(glob);
  const alike = /^(?:[\w.*-]|\{[\w.*-]*[\w-](?:,[\w.*-]*[\w-])+\})*(?:[\w-]|\{[\w.*-]*[\w-](?:,[\w.*-]*[\w-])+\})$/;
  if (glob.startsWith("!") || !alike.test(name) || /\*\*|\.\./.test(name)) return [];
  const asIs = name.replace(/[{}]/g, "\\$&"); // a name may have the braces themselves
  return asIs === name ? [name] : [name, asIs];
}

/** Whether a pattern or glob names git's own folder, which is searched only then: ".git/config" and "{.git,src}/**" do; "!.git" does not. */
function namesGit(pattern: string): boolean {
  return !pattern.startsWith("!") && /(^|\/)(\{([^{}/]*,)?)?\.git([/,}*?]|$)/.test(pattern);
}
