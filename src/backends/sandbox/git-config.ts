/**
 * What a repository's configuration may say without leading git to a program or to another file (git-config(1)): whole sections, or the keys of
 * one. Everything else is held back, so that what a newer git can be told is not let through unseen.
 */
const HARMLESS: { readonly [section: string]: true | readonly string[] } = {
  core: [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "autocrlf",
    "eol",
    "safecrlf",
    "abbrev",
    "quotepath",
    "compression",
    "untrackedcache",
    "splitindex",
    "sparsecheckout",
    "sparsecheckoutcone",
    "longpaths",
    "protecthfs",
    "protectntfs",
  ],
  remote: [
    "url",
    "pushurl",
    "fetch",
    "push",
    "mirror",
    "prune",
    "prunetags",
    "tagopt",
    "promisor",
    "partialclonefilter",
  ],
  submodule: ["url", "active", "branch", "ignore", "fetchrecursesubmodules", "shallow", "path"],
  user: ["name", "email", "signingkey", "useconfigonly"],
  diff: [
    "algorithm",
    "renames",
    "renamelimit",
    "colormoved",
    "mnemonicprefix",
    "noprefix",
    "submodule",
    "ignoresubmodules",
  ],
  merge: ["ff", "conflictstyle", "renames", "stat"],
  rebase: ["autosquash", "autostash", "updaterefs", "stat"],
  init: ["defaultbranch"],
  lfs: ["repositoryformatversion"],
  branch: ["remote", "merge", "pushremote", "rebase", "description", "autosetupmerge", "autosetuprebase", "sort"],
  commit: ["gpgsign", "cleanup", "status", "verbose"],
  extensions: ["objectformat", "refstorage", "worktreeconfig", "partialclone", "noop", "noop-v1", "relativeworktrees"],
  fetch: [
    "prune",
    "prunetags",
    "all",
    "parallel",
    "fsckobjects",
    "recursesubmodules",
    "writecommitgraph",
    "showforcedupdates",
  ],
  gc: [
    "auto",
    "autodetach",
    "autopacklimit",
    "pruneexpire",
    "worktreepruneexpire",
    "reflogexpire",
    "reflogexpireunreachable",
  ],
  log: ["date", "decorate", "follow", "mailmap", "abbrevcommit"],
  pull: ["ff", "rebase", "octopus"],
  push: ["default", "autosetupremote", "followtags", "gpgsign", "recursesubmodules"],
  rerere: ["enabled", "autoupdate"],
  advice: true,
  color: true,
  feature: true,
  i18n: true,
  index: true,
  pack: true,
  status: true,
};

const HEADER = /^\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]\s*(.*)$/;
const KEY = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?$/;
const NOTHING = /^\s*(?:[#;].*)?$/;
const ODD = /[^\t\x20-\x7e\x80-\u{10ffff}]/u;

/** In front of a line that is held back; behind it is what it said. */
const HELD_BACK = "# held back by Handrail's sandbox: ";

/**
 * A configuration in which every line that might lead git to a program, or to another file, is a comment. The same text where there is none.
 * A line goes on in the next one only where it ends in a backslash; those are held back, so that each line that is left stands for itself.
 * `isOwnTree`: whether a `core.worktree` is the repository's own; default: none is.
 */
export function harmlessConfig(text: string, isOwnTree: (worktree: string) => boolean = () => false): string {
  let section = "";
  const isHarmless = (line: string): boolean => {
    const [, key = "", value = ""] = KEY.exec(line) ?? [];
    if (section === "core" && key.toLowerCase() === "worktree") return /^[\w./-]+$/.test(value) && isOwnTree(value);
    return isHarmlessKey(section, key.toLowerCase());
  };
  return text
    .split("\n")
    .map((line) => {
      const plain = line.replace(/\r$/, "");
      if (NOTHING.test(plain) && !ODD.test(plain)) return line;
      const [, header, rest = ""] = HEADER.exec(plain) ?? [];
      const isOdd = ODD.test(plain) || plain.endsWith("\\");
      if (header === undefined) return !isOdd && isHarmless(plain) ? line : `${HELD_BACK}${line}`;
      const name = plain.slice(0, plain.length - rest.length);
      if (ODD.test(name)) return `${HELD_BACK}${line}`; // what follows stays in the section before
      section = header.toLowerCase().split(".")[0] ?? "";
      if (!isOdd && (NOTHING.test(rest) || isHarmless(rest))) return line;
      return `${name}\n${HELD_BACK}${rest}`;
    })
    .join("\n");
}

/** Where a configuration leads git to for hooks and for more of it, as it is written there. */
export function ledTo(text: string): { readonly hooks: readonly string[]; readonly included: readonly string[] } {
  let section = "";
  const hooks: string[] = [];
  const included: string[] = [];
  for (const line of text.split("\n")) {
    const [, header, rest = line] = HEADER.exec(line) ?? [];
    if (header !== undefined) section = header.toLowerCase();
    const [, key = "", value = ""] = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*?)\s*$/.exec(rest) ?? [];
    const path = value.replace(/^"(.*)"$/, "$1");
    if (path === "") continue;
    if (section === "core" && key.toLowerCase() === "hookspath") hooks.push(path);
    if (/^include(if)?$/.test(section) && key.toLowerCase() === "path") included.push(path);
  }
  return { hooks, included };
}

function isHarmlessKey(section: string, key: string): boolean {
  const allowed = Object.hasOwn(HARMLESS, section) ? HARMLESS[section] : undefined;
  return key !== "" && allowed !== undefined && (allowed === true || allowed.includes(key));
}
