import { type Part, type Setting, partsOf } from "./config.ts";

const SWITCH = /^(true|false|yes|no|on|off|[01])$/i;
const WORD = /^[\w.-]+$/;
const URL = /^[^\s"\\;#\p{Cc}]+$/u;
const TEXT = /^[^"\\;#\p{Cc}]+$/u;

/**
 * Keys with which git runs no program and reads no other file (git-config(1)); `*` is a subsection. All others may lead
 * to programs, so that keys of a newer git are not missed. With a pattern: the values, as written, with which git reads
 * a repository as it always does, so that commands that only look are known (`unknownSetting`).
 */
const HARMLESS: readonly (readonly [keys: string, reads?: RegExp])[] = [
  ["core.filemode core.ignorecase core.precomposeunicode core.symlinks core.longpaths core.quotepath", SWITCH],
  ["remote.*.prune push.autosetupremote fetch.prune rerere.enabled submodule.*.active", SWITCH],
  ["core.logallrefupdates core.untrackedcache core.autocrlf core.safecrlf core.eol lfs.*.access", WORD],
  ["pull.rebase pull.ff push.default", WORD],
  ["remote.*.url remote.*.pushurl remote.*.fetch remote.*.tagopt init.defaultbranch submodule.*.url", URL],
  ["branch.*.* user.name user.email user.signingkey user.useconfigonly", TEXT],
  ["core.repositoryformatversion", /^[01]$/],
  ["core.bare", /^false$/i],
  ["lfs.repositoryformatversion", /^0$/],
  [
    `core.abbrev core.compression core.splitindex core.sparsecheckout core.sparsecheckoutcone core.protecthfs
    core.protectntfs remote.*.mirror remote.*.prunetags remote.*.promisor remote.*.partialclonefilter
    submodule.active submodule.*.branch submodule.*.ignore submodule.*.fetchrecursesubmodules submodule.*.shallow
    submodule.*.path diff.algorithm diff.renames diff.renamelimit diff.colormoved diff.mnemonicprefix diff.noprefix
    diff.submodule diff.ignoresubmodules merge.ff merge.conflictstyle merge.renames merge.stat rebase.autosquash
    rebase.autostash rebase.updaterefs rebase.stat branch.autosetupmerge branch.autosetuprebase branch.sort
    commit.gpgsign commit.cleanup commit.status commit.verbose extensions.objectformat extensions.refstorage
    extensions.worktreeconfig extensions.partialclone extensions.noop extensions.noop-v1
    extensions.relativeworktrees fetch.prunetags fetch.all fetch.parallel fetch.fsckobjects fetch.recursesubmodules
    fetch.writecommitgraph fetch.showforcedupdates gc.auto gc.autodetach gc.autopacklimit gc.pruneexpire
    gc.worktreepruneexpire gc.reflogexpire gc.reflogexpireunreachable log.date log.decorate log.follow log.mailmap
    log.abbrevcommit push.followtags push.gpgsign push.recursesubmodules rerere.autoupdate advice.*
    color.* color.*.* feature.* i18n.* index.* pack.* status.*`,
  ],
];

/** Settings that are harmless with exactly this value: git-lfs is found on the PATH. */
const EXACTLY: { readonly [key: string]: string } = {
  "filter.lfs.clean": "git-lfs clean -- %f",
  "filter.lfs.smudge": "git-lfs smudge -- %f",
  "filter.lfs.process": "git-lfs filter-process",
  "filter.lfs.required": "true",
};

const RULES = new Map(
  HARMLESS.flatMap(([keys, reads]) =>
    keys
      .trim()
      .split(/\s+/)
      .map((key) => [key, { reads }]),
  ),
);

/** The values of these keys are options of `git merge`, which can name a strategy: a program. */
const NEVER = "branch.*.mergeoptions";

function ruleOf({ section, subsection, key }: Setting): { readonly reads: RegExp | undefined } | undefined {
  const start = subsection === undefined ? section : `${section}.*`;
  if (`${start}.${key}` === NEVER) return undefined;
  return RULES.get(`${start}.${key}`) ?? RULES.get(`${start}.*`);
}

/** Whether git runs no program and reads no other file because of a setting. */
export function isHarmless(setting: Setting): boolean {
  const { section, subsection = "", key, value } = setting;
  return ruleOf(setting) !== undefined || (value !== undefined && EXACTLY[`${section}.${subsection}.${key}`] === value);
}

/**
 * Keys whose value is a program, or leads git to one (git-config(1)); `*` is a subsection, or a key. A key that is in
 * neither table leads to files, hosts or data: it is not harmless, and no program.
 */
const STARTING = new Set(
  `core.editor core.pager core.fsmonitor core.hookspath core.sshcommand core.gitproxy core.askpass
  core.alternaterefscommand core.attributesfile alias.* alias.*.* pager.* sequence.editor interactive.difffilter
  filter.*.clean filter.*.smudge filter.*.process diff.external diff.*.command diff.*.textconv merge.*.driver
  difftool.*.* mergetool.*.* guitool.*.* browser.*.* man.*.* include.path includeif.*.path init.templatedir
  credential.helper credential.*.helper gpg.program gpg.*.program gpg.*.defaultkeycommand hook.*.*
  remote.*.uploadpack remote.*.receivepack remote.*.vcs uploadpack.packobjectshook protocol.ext.allow protocol.allow
  pull.octopus pull.twohead branch.*.mergeoptions submodule.*.update gc.recentobjectshook tar.*.command
  trailer.*.cmd trailer.*.command imap.tunnel instaweb.httpd instaweb.browser web.browser help.browser
  sendemail.smtpserver sendemail.sendmailcmd sendemail.tocmd sendemail.cccmd sendemail.headercmd`
    .trim()
    .split(/\s+/),
);

/** The name of a setting: "core.pager", "filter.x.clean". */
export function settingName({ section, subsection, key }: Setting): string {
  return [section, ...(subsection === undefined ? [] : [subsection]), key].join(".");
}

/** Whether a key's value makes git run a program, or read a file that names one. `text`: "core.pager", "alias.x=!". */
export function startsProgram(text: string): boolean {
  const [, section = "", subsection, key = ""] = /^([^.=]+)(?:\.([^=]*))?\.([^.=]+)(?:=|$)/s.exec(text) ?? [];
  const start = (subsection === undefined ? section : `${section}.*`).toLowerCase();
  const exact = subsection === undefined ? "" : `${section}.${subsection}.${key}`.toLowerCase();
  return [exact, `${start}.${key.toLowerCase()}`, `${start}.*`].some((each) => STARTING.has(each));
}

const ODD = /[^\t\n\x20-\x7e\x80-\u{10ffff}]/u;

/** Precedes a line that is disabled; the original line follows it. */
const HELD_BACK = "# held back by Handrail's sandbox: ";

/**
 * Returns a configuration in which everything that might lead git to a program or another file is a comment. Returns
 * the same text if there is nothing of the kind. Settings of more than one line are disabled too, so that versions of
 * git cannot disagree about what remains. `isOwnTree`: whether a `core.worktree` is the repository's own. Default:
 * never.
 */
export function harmlessConfig(text: string, isOwnTree: (worktree: string) => boolean = () => false): string {
  let kept = "";
  let isLost = false;
  const isKept = (part: Part): boolean => {
    if (ODD.test(part.raw.replaceAll("\r\n", "\n"))) return false;
    if (part.kind === "blank") return true;
    if (part.kind === "error" || isLost || part.raw.includes("\n")) return false;
    if (part.kind === "header" || isHarmless(part)) return true;
    const isTree = part.section === "core" && part.subsection === undefined && part.key === "worktree";
    return isTree && /^[\w./-]+$/.test(part.written) && isOwnTree(part.written);
  };
  for (const part of partsOf(text)) {
    if (part.kind === "header") isLost = false;
    const isFine = isKept(part);
    if (part.kind === "header") isLost = !isFine; // what follows would belong to the section before
    if (isFine) {
      kept += part.raw;
      continue;
    }
    const [, indent] = /(?:^|\n)([ \t]*)$/.exec(kept) ?? [];
    kept = indent === undefined ? `${kept}\n` : kept.slice(0, kept.length - indent.length);
    const lines = `${indent ?? ""}${part.raw}`.split("\n");
    kept += lines.map((line) => (line === "" ? line : HELD_BACK + line)).join("\n");
  }
  return kept;
}

/**
 * Returns why a configuration is not known to be inert for commands that only look: the first such line, in quotes. A
 * line with a backslash is not known, whatever it is.
 */
export function unknownSetting(config: string): string | undefined {
  let at = 0;
  for (const part of partsOf(config)) {
    const isKnown =
      part.kind === "blank" ||
      (part.kind === "header" && /^\[[a-z]+(?: "[^"\p{Cc}]*")?\]$/iu.test(part.raw)) ||
      (part.kind === "setting" && isInert(part));
    const slash = isKnown ? part.raw.indexOf("\\") : 0;
    if (slash !== -1) return JSON.stringify(lineAt(config, at + slash).slice(0, 100));
    at += part.raw.length;
  }
  return undefined;
}

function isInert(setting: Setting & { readonly written: string }): boolean {
  const { section, subsection, key, value, written } = setting;
  if (value === undefined) return false;
  return (
    ruleOf(setting)?.reads?.test(written) ??
    (written === value && EXACTLY[`${section}.${subsection ?? ""}.${key}`] === value)
  );
}

function lineAt(text: string, at: number): string {
  const end = text.indexOf("\n", at);
  return text.slice(text.lastIndexOf("\n", at - 1) + 1, end < 0 ? undefined : end).trim();
}
