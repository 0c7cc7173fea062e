import type { Finding, Use } from "../spec.ts";
import { literalWord } from "../words.ts";

// Keys that only change what is printed, or who is written down as the author.
const HARMLESS_KEY = oneOf(
  [
    String.raw`color\.[\w.-]+`,
    String.raw`core\.(quotepath|abbrev|autocrlf|whitespace|commentchar)`,
    String.raw`user\.(name|email)`,
    String.raw`diff\.(renames|context|noprefix|mnemonicprefix|algorithm|colormoved|renamelimit)`,
    String.raw`log\.(date|decorate|follow|abbrevcommit)`,
    String.raw`status\.\w+`,
    String.raw`column\.ui`,
    String.raw`advice\.\w+`,
    String.raw`init\.defaultbranch`,
    String.raw`pull\.(rebase|ff)`,
    String.raw`push\.default`,
    String.raw`merge\.(conflictstyle|ff)`,
    String.raw`commit\.gpgsign`,
    String.raw`tag\.gpgsign`,
    String.raw`rebase\.(autostash|autosquash)`,
    String.raw`gc\.auto`,
    String.raw`fetch\.prune`,
    String.raw`versionsort\.suffix`,
  ],
  "$",
);
// Keys whose value is a program, or leads to one: a command, a hook, a filter, a file to include. Source: git-config(1).
const PROGRAM_KEY = oneOf(
  [
    String.raw`alias\.`,
    String.raw`pager\.`,
    String.raw`filter\.`,
    String.raw`includeif\.`,
    String.raw`include\.`,
    String.raw`credential\.`,
    String.raw`browser\.`,
    String.raw`difftool\.`,
    String.raw`mergetool\.`,
    String.raw`man\.`,
    String.raw`hook\.`,
    String.raw`diff\.(external|.*\.(command|textconv))$`,
    String.raw`merge\..*\.driver$`,
    String.raw`core\.(editor|pager|fsmonitor|hookspath|sshcommand|gitproxy|askpass|alternaterefscommand|attributesfile|worktree)$`,
    String.raw`sequence\.editor$`,
    String.raw`gpg\.`,
    String.raw`uploadpack\.`,
    String.raw`url\.`,
    String.raw`protocol\.`,
    String.raw`remote\..*\.(uploadpack|receivepack|vcs|proxy)$`,
    String.raw`sendemail\.`,
    String.raw`trailer\.`,
    String.raw`http\.proxy`,
    String.raw`init\.templatedir`,
    String.raw`submodule\..*\.update$`,
    String.raw`interactive\.difffilter$`,
    String.raw`instaweb\.`,
  ],
  "",
);

/** What a setting given by `git -c KEY=VALUE` does. */
export function setting(given: string | undefined): readonly Finding[] {
  if (given === undefined) return [{ kind: "unclear", why: "the setting of -c is not known" }];
  const key = given.split("=", 1)[0] ?? "";
  if (HARMLESS_KEY.test(key)) return [];
  if (PROGRAM_KEY.test(key)) return [{ kind: "risk", risk: "high", why: `the setting ${key} makes git run a program` }];
  return [{ kind: "unclear", risk: "medium", why: `the setting ${key} is not known to be harmless` }];
}

/** True when a setting of this name makes git run a program, now or later. */
export function runsProgram(key: string): boolean {
  return PROGRAM_KEY.test(key);
}

/** Paths in operands that may also be revisions: `HEAD:.env` is a file too. */
export function revisionPaths({ operands }: Pick<Use, "operands">): readonly Finding[] {
  return operands.flatMap(({ value }) => {
    const path = value === undefined ? undefined : /^[^:]*:(?:\d:)?([^:].*)$/s.exec(value)?.[1];
    return path === undefined || /^[!^(/]/.test(path)
      ? []
      : [{ kind: "path", use: "read", word: literalWord(path) } as const];
  });
}

function oneOf(patterns: readonly string[], end: "" | "$"): RegExp {
  return new RegExp(`^(?:${patterns.join("|")})${end}`, "i");
}
