import { basename, join } from "node:path";
import type { Reader } from "./reader.ts";

/** A file of an unfinished operation that is longer than this is not read. Bytes: 1 MiB. */
const LONGEST = 1_048_576;

/** At most this many files of one operation are read. `git am` has one file for each patch. */
const MOST_FILES = 10_000;

const ANY = /^/;
const OBJECT = /^[0-9a-f]*$/;
/** Words in single quotes, as git writes them (sq_quote_buf): older versions let a shell read them. */
const QUOTED = String.raw`'[^']*'(?:\\['!]'[^']*')*`;
/** Strategies that git itself has: any other name is a program, `git-merge-NAME` (git-merge(1)). */
const STRATEGIES = "ort|recursive|resolve|octopus|ours|subtree";

/**
 * Files of unfinished operations, and the lines in them that start nothing. Git's own files only: those of
 * `rebase-merge` and `sequencer` (sequencer.c, builtin/rebase.c), of `rebase-apply` (builtin/am.c) and of a bisect
 * (builtin/bisect.c).
 */
const FILES: readonly (readonly [names: string, line: RegExp])[] = [
  [
    "git-rebase-todo git-rebase-todo.backup done todo", // git-rebase(1), "INTERACTIVE MODE": all but exec
    new RegExp(
      "^[ \t]*(#.*|(p|pick|revert|r|reword|e|edit|s|squash|f|fixup|d|drop|l|label|t|reset|m|merge)[ \t].*|" +
        "(b|break|noop)[ \t]*|(u|update-ref)[ \t]+refs/heads/\\S+[ \t]*)?\r?$",
      "s",
    ),
  ],
  ["strategy", new RegExp(`^(${STRATEGIES})?$`)],
  ["strategy_opts", /^(\s*(--[\w=.%-]+|'--[^']*'))*\s*$/],
  [
    "opts",
    new RegExp(`^(\\[options\\]|\t(?!strategy )[a-z-]+ = [\\w=%.-]+|\tstrategy = (${STRATEGIES}))?$`), // git-config(1)
  ],
  ["author-script", new RegExp(`^(GIT_AUTHOR_(NAME|EMAIL|DATE)=${QUOTED})?$`)],
  ["apply-opt", /^(\s*'?(-[pC]\d+|--whitespace=[a-z-]+|--(ignore-whitespace|3way|reject|keep-cr|quiet))'?)*\s*$/],
  ["gpg_sign_opt", /^(-S[0-9A-Fa-f]*)?$/], // the person's own gpg, as for every commit
  ["head-name update-refs", /^(refs\/heads\/\S+|detached HEAD|[0-9a-f]*)$/],
  ["BISECT_START", /^((?!refs\/(?!heads\/))\w[\w./@+-]*)?$/], // a branch for git checkout
  ["onto orig-head squash-onto stopped-sha abort-safety head autostash original-commit", OBJECT],
  ["BISECT_EXPECTED_REV BISECT_HEAD", OBJECT],
  ["BISECT_NAMES", new RegExp(`^(\\s*${QUOTED})*\\s*$`)],
  ["BISECT_LOG", new RegExp(`^(#.*|git bisect [a-z][\\w-]*( (${QUOTED}|[\\w./=-]+))*)?$`)], // git bisect replay
  ["BISECT_TERMS", /^([A-Za-z][\w-]*)?$/],
  [
    `BISECT_RUN BISECT_FIRST_PARENT BISECT_ANCESTORS_OK
    amend rewritten rewritten-list rewritten-pending current-fixups refs-to-delete dropped msgnum end next last
    message message-squash message-fixup patch info final-commit msg msg-clean
    interactive quiet verbose signoff drop_redundant_commits keep_redundant_commits cdate_is_adate ignore_date
    allow_rerere_autoupdate no-reschedule-failed-exec reschedule-failed-exec
    keep threeway utf8 sign messageid scissors quoted-cr rebasing applying dirtyindex no_inbody_headers
    patch-merge-index resolvemsg`,
    ANY,
  ],
];
const LINES = new Map(FILES.flatMap(([names, line]) => names.split(/\s+/).map((name) => [name, line] as const)));

/**
 * Returns what the state of an unfinished rebase, cherry-pick, revert or bisect would start when a person continues it,
 * and what in it is not known: a step with `exec`, a merge strategy that is a program, a file that git does not write,
 * content past the limits. Empty if it starts nothing. `path`: as from `operationsIn`. Pure.
 */
export function startedBy(reader: Reader, path: string): readonly string[] {
  if (reader.kindOf(path) !== "folder") return unknownIn(reader, path);
  const names = reader.namesIn(path);
  if (names.length > MOST_FILES) return [`more than ${MOST_FILES} files`];
  return names.flatMap((name) => unknownIn(reader, join(path, name)));
}

function unknownIn(reader: Reader, path: string): readonly string[] {
  const name = basename(path);
  const line = /^\d{4,}$/.test(name) ? ANY : LINES.get(name.replace(/\.lock$/, ""));
  if (line === undefined || reader.kindOf(path) !== "file") return [name];
  if (line === ANY) return [];
  const text = reader.read(path, LONGEST)?.toString("latin1");
  if (text === undefined) return [`${name}: unreadable, or too long`];
  return [...new Set(text.split("\n"))].filter((each) => !line.test(each)).map((each) => `${name}: ${each}`);
}
