import type { PlainWord } from "./script.ts";
import { type OptionTable, optionTable, readOptions } from "./options.ts";
import { readGit } from "./git.ts";
import type { Reading } from "./reading.ts";

interface Program {
  /** See `OptionTable`. Default: no options. "any": no word is an option, and no word is a path. */
  readonly options?: string;
  readonly operands?: "paths" | RegExp;
  /** The first operand is not a path, and must match this. */
  readonly first?: RegExp;
  /** Like `first`, where `operands` is a pattern. */
  readonly verb?: RegExp;
  /** With one of these options, the first operand is a path too. */
  readonly noFirstWith?: readonly string[];
  readonly least?: number;
  /** The maximum number of operands, late options included: some programs write to the second operand. */
  readonly most?: number;
  /** Whether `*` and `?` are accepted in paths. */
  readonly patterns?: true;
  /** Whether the program reads everything under its paths: always, or with one option. */
  readonly recursive?: true | string;
  readonly onlyFiles?: true;
  readonly keepsOut?: "grep" | "rg";
  readonly needs?: string;
  readonly isNotGlued?: true;
  /** Whether the program does not end its options at `--`. */
  readonly hasNoEnd?: true;
  /** Words to insert behind the name. */
  readonly adds?: readonly string[];
}

const ANY = /^/;
const TWO_FILES = { onlyFiles: true, least: 2, most: 2 } as const;
const GREP = "-F -P -i -v -w -x -n -c -l -o -q -s -H -A# -B# -C# -m# -e:";

/**
 * The list of programs; a key has names between blanks. docs/policy.md has the rules around it. Sources: codex's
 * known-safe list, GTFOBins, the programs' manuals.
 */
const PROGRAMS: { readonly [names: string]: Program } = {
  "tac rev sha256sum md5sum cksum": { patterns: true },
  cat: { options: "-A -b -n -s -v", patterns: true },
  nl: { options: "-b: -n: -s: -v#", patterns: true },
  "head tail": { options: "-n# -c# -# -q -v", patterns: true },
  wc: { options: "-l -w -c -m -L", patterns: true },
  ls: { options: "-1 -a -A -d -F -h -i -l -n -p -r -R -s -S -t", patterns: true, recursive: "-R" },
  // The option -o of tree writes, and a letter behind -I or -L in one word is another option.
  tree: { options: "-a -d -L# -f -I: --dirsfirst", recursive: true, isNotGlued: true, hasNoEnd: true },
  du: { options: "-a -c -h -k -m -s -d#", patterns: true, recursive: true },
  df: { options: "-h -T -i" },
  "uptime nproc whoami": { most: 0 },
  free: { options: "-h -m", most: 0 },
  id: { options: "-u -g -n", most: 0 },
  uname: { options: "-a -s -r -m", most: 0 },
  pwd: { options: "-P", most: 0 },
  "basename dirname": { operands: ANY },
  realpath: { options: "-e -m", patterns: true },
  readlink: { options: "-f -e -m", patterns: true },
  stat: { options: "-c:", patterns: true },
  file: { options: "-b -i -L", patterns: true },
  which: { options: "-a", operands: /^[\w.+-]+$/ },
  "echo seq true false": { options: "any" },
  // GNU printf ends at %n; other implementations write through it.
  printf: { options: "any", first: /^(?!-)(?!.*%[-+ #0-9.*'$]*[hlLqjzt]*n)/s, least: 1 },
  sleep: { operands: /^([12]?\d|30)(\.0{1,3})?$|^[12]?\d\.\d{1,3}$/, least: 1, most: 1 },
  date: { options: "-u -I -R", operands: /^\+/, most: 1 },
  test: { options: "-e -f -d -s -r -w -x -L -h -n -z -eq -ne -gt -ge -lt -le -nt -ot" },
  grep: {
    options: `${GREP} -E -L -h -r --include= --exclude= --exclude-dir=`,
    ...{ first: ANY, noFirstWith: ["-e"], patterns: true, recursive: "-r", keepsOut: "grep" },
  },
  // The options -E, -L, -h and -r of rg are not those of grep.
  rg: {
    options: `${GREP} -g: -t: -T: -S -U --files --hidden`,
    ...{ first: ANY, noFirstWith: ["-e", "--files"], patterns: true, recursive: true, keepsOut: "rg" },
  },
  sort: { options: "-b -d -f -h -k: -n -r -s -t: -u -V", patterns: true },
  uniq: { options: "-c -d -i -u", most: 1 },
  cut: { options: "-b: -c: -d: -f: -s", patterns: true },
  tr: { options: "-d -s -c", operands: ANY, most: 2 },
  paste: { options: "-d: -s", patterns: true },
  fold: { options: "-w#" },
  column: { options: "-t -s:" },
  comm: { options: "-1 -2 -3", ...TWO_FILES },
  cmp: { options: "-s", ...TWO_FILES },
  diff: { options: "-u -q -w -b", ...TWO_FILES },
  od: { options: "-A: -t: -c -x -N# -j#", patterns: true },
  hexdump: { options: "-C -n#", patterns: true },
  strings: { options: "-n# -t:", patterns: true },
  base64: { options: "-d -w#", most: 1 },
  sed: { options: "-n", needs: "-n", first: /^\d{1,9}(,\d{1,9})?p$/, least: 1, most: 2 },
  jq: {
    options: "-r -c -e -S -s",
    ...{ first: /^\.[\w.[\]]*(\s*\|\s*(keys|length|type))?$/, least: 1, hasNoEnd: true },
  },
};

const SYSTEMD = { hasNoEnd: true, adds: ["--no-pager"] } as const;

/**
 * Programs that look at the whole machine: its processes, services, logs, disks and connections. They show what belongs
 * to other users and programs, so they are on the list only where a person administers the machine (`wholeMachine`).
 * Not on it: what shows variables of processes (`ps e`), waits for more (`-f`), or asks another machine (`-H`).
 */
const MACHINE_PROGRAMS: { readonly [names: string]: Program } = {
  ps: {
    options: "-e -A -a -f -F -l -L -H -w -x -y -o: -p: -u: -C: --sort= --no-headers --forest",
    operands: /^[aflmrTuvwxXj]+$/,
  },
  pgrep: { options: "-a -l -f -x -n -o -c -i -u: -P:", operands: ANY, most: 1 },
  pidof: { options: "-s -x", operands: ANY },
  top: { options: "-b -n# -d#", needs: "-b", most: 0 },
  journalctl: {
    options:
      "-u: -n# -b -k -p: -r -x -e -a -q -o: -t: -g: -S: -U: --since= --until= --unit= --lines=# --boot --dmesg " +
      "--priority= --reverse --output= --no-pager --no-hostname --utc --list-boots --disk-usage",
    most: 0,
    ...SYSTEMD,
  },
  systemctl: {
    options:
      "-a -l -q -n# -t: -p: --all --full --failed --plain --no-legend --no-pager --type= --state= --property= --user",
    // The first word decides; a unit may have any name.
    operands: /^[\w@.:\\-]+$/,
    verb: /^(status|show|cat|is-(active|enabled|failed)|list-[a-z-]+|get-default)$/,
    ...SYSTEMD,
  },
  "loginctl timedatectl hostnamectl": {
    options: "--no-pager",
    operands: /^(status|list-(sessions|users|seats))$/,
    most: 1,
  },
  ss: { options: "-t -u -x -l -n -p -a -e -i -m -o -r -s -4 -6 -H", operands: ANY },
  netstat: { options: "-t -u -x -l -n -p -a -e -i -r -s -4 -6", most: 0 },
  ip: {
    options: "-br -brief -c -d -h -j -o -p -s -4 -6",
    operands: /^(a|addr|address|l|link|r|route|n|neigh|rule|s|show|ls|list)$/,
    most: 2,
  },
  lsof: { options: "-P -n -i -U -t -p: -u: -c:" },
  "w who users": { options: "-a -b -H -q -u -h -s", most: 0 },
  "last lastb lastlog": { options: "-n# -a -F -i -w -x -#", most: 0 },
  dmesg: { options: "-T -t -k -u -x -l: -L", most: 0 },
  "lscpu lsmod lspci lsusb": { most: 0 },
  lsblk: { options: "-a -b -d -f -J -l -m -n -o: -p -S -t", most: 0 },
  "mount findmnt": { most: 0 },
  vmstat: { options: "-s -d -m -a -w", operands: /^\d{1,2}$/, most: 2 },
  sysctl: { options: "-a -n", operands: /^[\w./-]+$/ },
  crontab: { options: "-l", needs: "-l", most: 0 },
  hostname: { options: "-f -i -I -s -d", most: 0 },
  uptime: { options: "-p -s", most: 0 },
  free: { options: "-h -m -g -b -k -t -w", most: 0 },
  groups: { most: 0 },
  lsns: { most: 0 },
};

/** Programs for which `--version` is accepted too. Other programs ask files of the project which program to run. */
const VERSIONS: ReadonlySet<string> = new Set(
  "git node python3 bash make gcc clang cmake tar curl jq rg tmux".split(" "),
);

type ListedProgram = Program & { readonly table: OptionTable };

const byName = (programs: { readonly [names: string]: Program }): ReadonlyMap<string, ListedProgram> =>
  new Map(
    Object.entries(programs).flatMap(([names, program]) => {
      const listed = { ...program, table: optionTable(program.options ?? "") };
      return names.split(" ").map((name) => [name, listed]);
    }),
  );

const BY_NAME = byName(PROGRAMS);
const OF_MACHINE = byName(MACHINE_PROGRAMS);

/** True for the name of a program that looks at the whole machine, of which a sandbox shows only a part. */
export function looksAtMachine(name: string): boolean {
  return OF_MACHINE.has(name);
}

/** True for the name of a program that only looks, whatever its options. */
export function isListed(name: string): boolean {
  return BY_NAME.has(name) || name === "find";
}

/**
 * Reads a command by the list. A string tells why it is not on the list. `wholeMachine`: programs that look at the
 * whole machine are on it too.
 */
export function readByList(
  words: readonly [PlainWord, ...PlainWord[]],
  { wholeMachine = false }: { readonly wholeMachine?: boolean } = {},
): Reading | string {
  const [{ value: name }, second] = words;
  if (words.length === 2 && second?.value === "--version" && VERSIONS.has(name)) return { paths: [], end: 2 };
  if (name === "find") return readFind(words);
  if (name === "git") return readGit(words);
  const program = (wholeMachine ? OF_MACHINE.get(name) : undefined) ?? BY_NAME.get(name);
  if (program === undefined) return `${name} is not on the list of programs that only look`;
  return program.options === "any" ? readAny(words, program) : readProgram(words, program);
}

function readAny(words: readonly [PlainWord, ...PlainWord[]], { first, least = 0 }: Program): Reading | string {
  const name = words[0].value;
  if (words.some(({ wildcards }) => wildcards !== undefined)) return `${name} takes no bare "*" or "?"`;
  if (words.length - 1 < least) return `${name} has too few operands`;
  if (words[1] !== undefined && first?.test(words[1].value) === false) return wrong(name, words[1]);
  return { paths: [], end: words.length };
}

function readProgram(words: readonly [PlainWord, ...PlainWord[]], program: ListedProgram): Reading | string {
  const name = words[0].value;
  const read = readOptions(words, 1, program.table, program.isNotGlued === true ? "next word" : "glued");
  if (typeof read === "string") return read;
  const { options, operands, late, end } = read;
  const { operands: kind = "paths", first, verb, adds, noFirstWith = [], least = 0, most = Infinity } = program;
  if (program.hasNoEnd === true && end < words.length) return `${name} does not support "--"`;
  if (program.needs !== undefined && !options.has(program.needs)) return `${name} only looks with ${program.needs}`;
  if (operands.length < least) return `${name} has too few operands`;
  if (operands.length + late.length > most) return `${name} has too many operands`;
  const firstIsText = first !== undefined && !noFirstWith.some((option) => options.has(option));
  const texts = kind === "paths" ? operands.slice(0, firstIsText ? 1 : 0) : operands;
  for (const index of texts) {
    const word = words[index] as PlainWord;
    const pattern = kind === "paths" ? first : kind;
    if (word.wildcards !== undefined || pattern?.test(word.value) === false) return wrong(name, word);
  }
  const [at] = operands;
  if (verb !== undefined && at !== undefined && !verb.test(words[at]?.value ?? ""))
    return wrong(name, words[at] as PlainWord);
  const paths = kind === "paths" ? [...operands.slice(texts.length), ...late] : [];
  const wild = program.patterns ? undefined : paths.find((index) => words[index]?.wildcards !== undefined);
  if (wild !== undefined) return wrong(name, words[wild] as PlainWord);
  const isRecursive =
    typeof program.recursive === "string" ? options.has(program.recursive) : program.recursive === true;
  return {
    paths,
    end,
    isRecursive,
    looksBelow: isRecursive && operands.length === texts.length,
    onlyFiles: program.onlyFiles === true,
    ...(adds !== undefined && { adds }),
    ...(isRecursive && program.keepsOut !== undefined && { keepsOut: program.keepsOut }),
  };
}

function wrong(name: string, { value }: PlainWord): string {
  return `${JSON.stringify(value)} is not on the list of ${name} operands that only look`;
}

const FIND_VALUES: ReadonlySet<string> = new Set(
  "-name -iname -path -type -maxdepth -mindepth -size -mtime -mmin".split(" "),
);
const FIND_ALONE: ReadonlySet<string> = new Set("-empty -prune -not ! -o -a -print -print0".split(" "));

/** Reads find(1): folders, then tests that only look. A string tells why it is not on the list. */
function readFind(words: readonly [PlainWord, ...PlainWord[]]): Reading | string {
  const paths: number[] = [];
  let isExpression = false;
  for (let index = 1; index < words.length; index++) {
    const { value, wildcards } = words[index] as PlainWord;
    isExpression ||= /^(-|!$|[(),]$)/.test(value);
    if (wildcards !== undefined) return `find takes no bare "*" or "?": quote ${JSON.stringify(value)}`;
    if (!isExpression) paths.push(index);
    else if (FIND_VALUES.has(value) && index + 1 < words.length) {
      index += 1;
      if (words[index]?.wildcards !== undefined) return `find takes no bare "*" or "?": quote the value of ${value}`;
    } else if (!FIND_ALONE.has(value))
      return `${JSON.stringify(value)} is not on the list of find tests that only look`;
  }
  return { paths, isRecursive: true, looksBelow: paths.length === 0, end: words.length };
}
