/**
 * Configuration keys with which git runs no program and reads no other file (git-config(1)), by section. "*" is every
 * key. All other keys are disabled, so that keys of a newer git are not missed.
 */
const HARMLESS: { readonly [section: string]: string } = {
  core: `
    repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf
    abbrev quotepath compression untrackedcache splitindex sparsecheckout sparsecheckoutcone longpaths protecthfs
    protectntfs`,
  remote: "url pushurl fetch push mirror prune prunetags tagopt promisor partialclonefilter",
  submodule: "url active branch ignore fetchrecursesubmodules shallow path",
  user: "name email signingkey useconfigonly",
  diff: "algorithm renames renamelimit colormoved mnemonicprefix noprefix submodule ignoresubmodules",
  merge: "ff conflictstyle renames stat",
  rebase: "autosquash autostash updaterefs stat",
  init: "defaultbranch",
  lfs: "repositoryformatversion",
  branch: "remote merge pushremote rebase description autosetupmerge autosetuprebase sort",
  commit: "gpgsign cleanup status verbose",
  extensions: "objectformat refstorage worktreeconfig partialclone noop noop-v1 relativeworktrees",
  fetch: "prune prunetags all parallel fsckobjects recursesubmodules writecommitgraph showforcedupdates",
  gc: "auto autodetach autopacklimit pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable",
  log: "date decorate follow mailmap abbrevcommit",
  pull: "ff rebase octopus",
  push: "default autosetupremote followtags gpgsign recursesubmodules",
  rerere: "enabled autoupdate",
  advice: "*",
  color: "*",
  feature: "*",
  i18n: "*",
  index: "*",
  pack: "*",
  status: "*",
};

const HEADER = /^\s*\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]\s*(.*)$/;
const KEY = /^\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*?)\s*)?$/;
const NOTHING = /^\s*(?:[#;].*)?$/;
const ODD = /[^\t\x20-\x7e\x80-\u{10ffff}]/u;

/** Precedes a line that is disabled; the original line follows it. */
const HELD_BACK = "# held back by Handrail's sandbox: ";

/**
 * Returns a configuration in which every line that might lead git to a program or another file is a comment. Returns
 * the same text if there is no such line. Lines that end in a backslash are disabled too, so that every remaining line
 * is complete. `isOwnTree`: whether a `core.worktree` is the repository's own. Default: never.
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
      if (ODD.test(name)) return `${HELD_BACK}${line}`; // what follows still counts to the previous section
      section = header.toLowerCase().split(".")[0] ?? "";
      if (!isOdd && (NOTHING.test(rest) || isHarmless(rest))) return line;
      return `${name}\n${HELD_BACK}${rest}`;
    })
    .join("\n");
}

/** The hooks paths and included files in a configuration, as written. */
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
  const keys = Object.hasOwn(HARMLESS, section) ? HARMLESS[section] : undefined;
  return key !== "" && keys !== undefined && (keys === "*" || keys.split(/\s+/).includes(key));
}
