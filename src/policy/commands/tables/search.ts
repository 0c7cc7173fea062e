import type { CommandSpec, Finding, Use } from "../spec.ts";
import type { Word } from "../tree.ts";

/** Commands that look for files and for text in them. */
export const SEARCH: readonly CommandSpec[] = [
  {
    names: ["grep", "egrep", "fgrep", "zgrep"],
    risk: "low",
    options: {
      flags:
        "-E --extended-regexp -F --fixed-strings -G --basic-regexp -P --perl-regexp -i --ignore-case -y " +
        "--no-ignore-case -v --invert-match " +
        "-w --word-regexp -x --line-regexp -c --count -L --files-without-match -l --files-with-matches -o " +
        "--only-matching -q --quiet --silent " +
        "-s --no-messages -b --byte-offset -H --with-filename -h --no-filename -n --line-number -T --initial-tab -Z " +
        "--null -a --text -I " +
        "-r --recursive -R --dereference-recursive -U --binary -z --null-data --line-buffered -NUM",
      values: {
        "-e --regexp": "text",
        "-f --file": "read",
        "-m --max-count": "text",
        "-A --after-context": "text",
        "-B --before-context": "text",
        "-C --context": "text",
        "--label": "text",
        "--binary-files": "text",
        "-D --devices": "text",
        "-d --directories": "text",
        "--exclude": "text",
        "--include": "text",
        "--exclude-dir": "text",
        "--exclude-from": "read",
      },
      optional: { "--color --colour": "text" },
    },
    operands: { rest: "text" },
    refine: patternThenPaths(["-e", "-f"]),
    match: [
      "grep -rn foo src",
      "grep -E 'a|b' --include='*.ts' -r .",
      "grep -e foo -A3 a.txt",
      "grep -c '' a.txt",
      "grep -i -- -x a.txt",
    ],
    notMatch: ["grep --rec foo src", "grep foo $file", "grep $x"],
  },
  {
    names: ["rg"],
    risk: "low",
    options: {
      flags:
        "-i --ignore-case -s --case-sensitive -S --smart-case -v --invert-match -w --word-regexp -x --line-regexp -c " +
        "--count --count-matches " +
        "-l --files-with-matches --files-without-match -o --only-matching -q --quiet -n --line-number -N " +
        "--no-line-number -H --with-filename " +
        "-I --no-filename -F --fixed-strings -P --pcre2 -U --multiline --multiline-dotall -u --unrestricted -uu -uuu -. " +
        "--hidden --no-hidden " +
        "--no-ignore --no-ignore-vcs --no-ignore-parent -L --follow --files --json -p --pretty --heading --no-heading " +
        "--column --trim " +
        "--stats --type-list -a --text -0 --null --crlf --vimgrep --passthru --no-messages --no-config " +
        "--one-file-system --glob-case-insensitive -V --version",
      values: {
        "-e --regexp": "text",
        "-f --file": "read",
        "-g --glob": "text",
        "--iglob": "text",
        "-t --type": "text",
        "-T --type-not": "text",
        "-A --after-context": "text",
        "-B --before-context": "text",
        "-C --context": "text",
        "-m --max-count": "text",
        "-d --max-depth": "text",
        "-j --threads": "text",
        "-M --max-columns": "text",
        "-r --replace": "text",
        "-E --encoding": "text",
        "--sort": "text",
        "--sortr": "text",
        "--color": "text",
        "--colors": "text",
        "--max-filesize": "text",
        "--context-separator": "text",
        "--ignore-file": "read",
      },
    },
    operands: { rest: "text" },
    refine: patternThenPaths(["-e", "-f", "--files", "--type-list"]),
    match: ["rg foo", "rg -n 'a b' src test", "rg --files -g '*.ts'", "rg -tts --hidden TODO"],
    notMatch: ["rg --pre ./p foo", "rg --hostname-bin ./p foo", "rg -z foo", "rg foo --search-zip"],
  },
  {
    names: ["ag"],
    risk: "low",
    options: {
      flags:
        "-i --ignore-case -s --case-sensitive -l --files-with-matches -L -c --count -w --word-regexp -Q --literal -v " +
        "--invert-match -a --all-types -u --unrestricted --hidden -n --norecurse --nocolor --color --nogroup --group",
      values: {
        "-A --after": "text",
        "-B --before": "text",
        "-C --context": "text",
        "-G --file-search-regex": "text",
        "-m --max-count": "text",
        "--ignore": "text",
        "--depth": "text",
      },
    },
    operands: { rest: "text" },
    refine: patternThenPaths([]),
    match: ["ag -l foo src"],
    notMatch: ["ag --pager 'sh -c id' foo"],
  },
  {
    names: ["find"],
    risk: "low",
    syntax: "words",
    operands: { rest: "text" },
    refine: findExpression,
    match: [
      "find . -name '*.test.ts' -not -path '*/node_modules/*'",
      "find src -type f -mtime -2",
      "find . \\( -name a -o -name b \\) -prune -o -print",
      "find -maxdepth 2 -type d",
      "find . -newer package.json -printf '%p\\n'",
    ],
    notMatch: [
      "find . -delete",
      "find . -exec rm {} +",
      "find . -fprint out",
      "find . -ok ls ';'",
      "find . -files0-from x",
      "find . $x",
    ],
  },
  {
    names: ["fd", "fdfind"],
    risk: "low",
    options: {
      flags:
        "-H --hidden -I --no-ignore -u --unrestricted -s --case-sensitive -i --ignore-case -g --glob -F --fixed-strings " +
        "-a --absolute-path " +
        "-l --list-details -L --follow -p --full-path -0 --print0 -1 -q --quiet --no-ignore-vcs -V --version",
      values: {
        "-d --max-depth": "text",
        "--min-depth": "text",
        "--exact-depth": "text",
        "-t --type": "text",
        "-e --extension": "text",
        "-E --exclude": "text",
        "-S --size": "text",
        "--changed-within": "text",
        "--changed-before": "text",
        "-o --owner": "text",
        "-c --color": "text",
        "-j --threads": "text",
        "--max-results": "text",
        "--base-directory": "folder",
        "--search-path": "folder",
        "-x --exec": "command",
        "-X --exec-batch": "command",
      },
      raise: {
        "-x --exec": ["medium", "runs a command for every file found"],
        "-X --exec-batch": ["medium", "runs a command on the files found"],
      },
    },
    operands: { first: ["text"], rest: "folder" },
    match: ["fd -e ts", "fd foo src -t f"],
    notMatch: ["fd -x rm {}", "fd . --exec sh -c id", "fd --ignore-file x"],
  },
  {
    names: ["locate", "plocate"],
    risk: "medium",
    why: "lists files of the whole machine",
    options: { flags: "-i --ignore-case -c --count -b --basename -e --existing", values: { "-l --limit": "text" } },
    operands: { rest: "text" },
    match: ["locate -i foo"],
    notMatch: ["locate -d /tmp/db foo"],
  },
];

/** The first operand is a pattern unless one of the options brings it; the others are paths. */
function patternThenPaths(bringers: readonly string[]): (use: Use) => readonly Finding[] {
  return ({ options, operands }) => {
    const brought = options.some(({ name }) => bringers.includes(name));
    return operands.slice(brought ? 0 : 1).map((word) => ({ kind: "path", use: "folder", word }));
  };
}

const FIND_ALONE = new Set(
  (
    "( ) ! , -a -and -o -or -not -H -L -P -daystart -depth -d -follow -mount -xdev -noleaf -ignore_readdir_race " +
    "-noignore_readdir_race -true -false " +
    "-empty -executable -readable -writable -nouser -nogroup -print -print0 -ls -prune -quit -warn -nowarn --"
  ).split(" "),
);
const FIND_WITH_TEXT = new Set(
  (
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin " +
    "-atime -amin -ctime -cmin -maxdepth " +
    "-mindepth -perm -user -group -uid -gid -links -inum -fstype -lname -ilname -used -printf -newermt -D"
  ).split(" "),
);
const FIND_WITH_FILE = new Set(["-newer", "-anewer", "-cnewer", "-samefile"]);
const FIND_WRITES = new Set(["-fprint", "-fprint0", "-fls", "-fprintf"]);
const FIND_RUNS = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** find's own language: start folders, then tests and actions, some of which run commands, write or remove. */
function findExpression({ operands }: Use): readonly Finding[] {
  const findings: Finding[] = [];
  const starts: Word[] = [];
  let inExpression = false;
  for (let index = 0; index < operands.length; index++) {
    const word = operands[index];
    const name = word?.value;
    if (word === undefined) break;
    if (name === undefined || !/^[-(),!]/.test(name)) {
      if (inExpression) return [...findings, { kind: "unclear", why: `"${word.text}" is no test or action of find` }];
      starts.push(word);
      findings.push({ kind: "path", use: "folder", word });
      continue;
    }
    if (!["-H", "-L", "-P", "-D", "--"].includes(name)) inExpression = true;
    if (FIND_ALONE.has(name)) continue;
    if (name === "-delete") {
      findings.push({ kind: "risk", risk: "medium", why: "removes what it finds" });
      findings.push(...starts.map((start): Finding => ({ kind: "path", use: "write", word: start })));
      continue;
    }
    if (FIND_RUNS.has(name)) {
      const end = operands.findIndex(
        ({ value }, at) => at > index && (value === ";" || (value === "+" && operands[at - 1]?.value === "{}")),
      );
      if (end === -1) return [...findings, { kind: "unclear", why: `${name} has no end (";" or "{} +")` }];
      const words = operands.slice(index + 1, end);
      findings.push({ kind: "command", words: words.filter(({ value }) => value !== "{}"), added: "unknown" });
      findings.push({ kind: "risk", risk: "medium", why: "runs a command for what it finds" });
      if (name.endsWith("dir")) findings.push({ kind: "unclear", why: `${name} runs it in other folders` });
      index = end;
      continue;
    }
    const value = operands[++index];
    if (value === undefined) return [...findings, { kind: "unclear", why: `${name} lacks its value` }];
    if (FIND_WITH_TEXT.has(name) || /^-newer[aBcmt][aBcm]$/.test(name)) {
      // A value that is several words, or one that is not known, would shift the meaning of those behind it.
      if (value.splits) findings.push({ kind: "unclear", why: `the value of ${name} is not known; quote it` });
      if (/^-newer..$/.test(name) && !name.endsWith("t")) findings.push({ kind: "path", use: "read", word: value });
    } else if (FIND_WITH_FILE.has(name)) findings.push({ kind: "path", use: "read", word: value });
    else if (FIND_WRITES.has(name)) {
      findings.push(
        { kind: "path", use: "write", word: value },
        { kind: "risk", risk: "medium", why: "writes a file" },
      );
      if (name === "-fprintf") index++;
    } else return [...findings, { kind: "unclear", why: `"${name}" is no test or action of find that is known here` }];
  }
  return findings;
}
