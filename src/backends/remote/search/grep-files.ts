import { posix } from "node:path";
import type { Process } from "../../../contract/backend.ts";
import { quoteWord } from "../../../util/shell.ts";
import type { SearchFor } from "./arguments.ts";
import { type FileLines, fileLines, lineReader } from "./file-lines.ts";
import type { Matcher } from "./matcher.ts";
import type { GrepFacts } from "./probe.ts";
import type { Run } from "./run.ts";
import { type ScriptShell, TELL, speakWithScripts } from "./script-shell.ts";
import { batches, wordsOf } from "./words.ts";

/** ripgrep reads so many bytes at a time, and takes a file for binary when there is a NUL among the first. */
const BLOCK = 65_536;

/** So many batches are under way at once, so that a far connection does not have to be waited for after each. */
const AT_ONCE = 4;

/** The longest path on Linux (PATH_MAX), beside a line. */
const LONGEST_PATH = 4_096;

/** cut(1) is asked for no more bytes of a line. */
const MOST_CUT = 1_000_000;

/** Where files are looked at. */
export interface Group {
  /** The folder that the names are relative to: a real path. */
  readonly folder: string;
  /** In bytes (latin1), in the order of paths. */
  readonly files: readonly string[];
  /** A file that was named is searched although it is binary. */
  readonly isNamed: boolean;
}

export interface GrepFilesOptions {
  readonly search: SearchFor;
  readonly matcher: Matcher;
  readonly grep: GrepFacts;
  readonly run: Run;
  /** Starts the program `sh` there, with a stdin and split streams. */
  readonly startShell: () => Promise<Process>;
}

/** Searches the files there with grep, and writes what ripgrep writes, in the order of paths. Resolves to the number of matching lines. */
export async function grepFiles(
  group: Group,
  { search, matcher, grep, run, startShell }: GrepFilesOptions,
): Promise<number> {
  if (group.files.length === 0) return 0;
  const shell = speakWithScripts(run.adopt(await startShell()));
  const matches = await grepAll(group, { shell, search, matcher, grep, run });
  complaintsOf(await shell.end(), group.folder).forEach(run.complain);
  return matches;
}

interface How extends Omit<GrepFilesOptions, "startShell"> {
  readonly shell: ScriptShell;
}

async function grepAll(group: Group, how: How): Promise<number> {
  const results: Promise<number>[] = [];
  for (const names of batches(group.files.map((name) => `./${name}`))) {
    // The first one is waited for: it may find all that is wanted.
    await results[Math.max(0, results.length - AT_ONCE)];
    if (how.run.isStopped()) break;
    const result = grepBatch({ group, names, before: results.at(-1) }, how);
    result.catch(() => undefined); // thrown where it is awaited
    results.push(result);
  }
  return (await Promise.all(results)).reduce((sum, matches) => sum + matches, 0);
}

interface Batch {
  readonly group: Group;
  readonly names: readonly string[];
  /** What has to be written before this. */
  readonly before: Promise<number> | undefined;
}

async function grepBatch({ group, names, before }: Batch, how: How): Promise<number> {
  const { shell, search, grep, matcher } = how;
  const inFolder = `cd -- ${quoteWord(group.folder)} || exit 2`;
  const expression = `-e ${quoteWord(matcher.source)}`;
  const found = await namesFrom(names, (words) => `grep -l ${grep.asText} -E ${expression} -- ${words}`, inFolder, how);
  if (found.length === 0 || how.run.isStopped()) return (await before, 0);
  // With --text no file is taken for binary.
  const withNul = search.text
    ? []
    : await namesFrom(
        found,
        (words) => `grep -l ${grep.asText} -e "$(printf '[^\\001-\\377]')" -- ${words}`,
        inFolder,
        how,
      );
  const binary = new Map<string, number>();
  for (const name of withNul) binary.set(name, await firstNul(name, inFolder, shell));
  await before;

  const shown = found.filter((name) => group.isNamed || (binary.get(name) ?? BLOCK) >= BLOCK);
  return shown.length === 0 ? 0 : showLines({ group, names: shown, binary, inFolder }, how);
}

interface Shown {
  readonly group: Group;
  readonly names: readonly string[];
  /** Where the first NUL is in those that have one. */
  readonly binary: ReadonlyMap<string, number>;
  readonly inFolder: string;
}

/** Writes the lines of files that have some. */
async function showLines({ group, names, binary, inFolder }: Shown, how: How): Promise<number> {
  const { shell, search, grep, matcher, run } = how;
  const command = `grep -n ${grep.asText} ${grepOptions(search, matcher)}`;
  const cut =
    matcher.check === undefined ? ` | cut -b 1-${Math.min(search.longest, MOST_CUT) + LONGEST_PATH + 64}` : ""; // whole lines are for looking again
  const folder = Buffer.from(group.folder).toString("latin1");
  let matches = 0;
  let current: { readonly name: string; readonly lines: FileLines } | undefined;
  const leave = () => {
    if (current === undefined) return;
    const { name, lines } = current;
    matches += lines.matches;
    const offset = binary.get(name);
    if (offset !== undefined && !group.isNamed && lines.matches > 0)
      run.write(remark(posix.join(folder, name), "WARNING: stopped searching binary file after match", offset));
    current = undefined;
  };
  const linesOf = (name: string): FileLines => {
    if (current?.name === name) return current.lines;
    leave();
    current = { name, lines: writerOf(posix.join(folder, name), group.isNamed ? binary.get(name) : undefined, how) };
    return current.lines;
  };

  if (grep.nulls !== "" && binary.size === 0 && !names.some(hasLineBreak)) {
    const { before, words } = wordsOf(names);
    const reader = lineReader((record) => {
      const nul = record.indexOf(0);
      if (nul !== -1) linesOf(record.toString("latin1", 0, nul)).line(record.subarray(nul + 1));
    });
    await shell.ask(`(${inFolder}\n${before}\n${command} -H ${grep.nulls} -- ${words}${cut}\n)`, { data: reader.push });
    reader.end();
  } else {
    let index = -1;
    const reader = lineReader((line) => linesOf(names[index] ?? "").line(line));
    const each = names.map((name) => {
      const { before, words } = wordsOf([name]);
      const blocks = group.isNamed ? 0 : Math.floor((binary.get(name) ?? 0) / BLOCK);
      // In a folder the blocks before the one that shows that it is binary are all that is searched.
      const source =
        blocks === 0 ? `${command} -- ${words}` : `dd if=${words} bs=${BLOCK} count=${blocks} 2>/dev/null | ${command}`;
      return `${before}\n${TELL}\n${source}${cut}`;
    });
    const told = () => {
      reader.end();
      leave();
      index++;
    };
    await shell.ask(`(${inFolder}\n${each.join("\n")}\n)`, { data: reader.push, told });
    reader.end();
  }
  leave();
  return matches;
}

/** What grep is given to search: how many matches, what is around them, the expression. */
export function grepOptions(search: SearchFor, { source, check }: Matcher): string {
  const most = check === undefined && search.most < Number.MAX_SAFE_INTEGER ? `-m ${search.most} ` : "";
  const around = search.context > 0 ? `-C ${search.context} ` : "";
  return `${most}${around}-E -e ${quoteWord(source)}`;
}

/** Of the names those that a command with them prints. It can print names without line breaks only; those with one are asked for one by one. */
async function namesFrom(
  names: readonly string[],
  command: (words: string) => string,
  inFolder: string,
  { shell, grep }: How,
): Promise<readonly string[]> {
  const odd = grep.nulls === "" ? names.filter(hasLineBreak) : [];
  const plain = odd.length === 0 ? names : names.filter((name) => !hasLineBreak(name));
  const chunks: Buffer[] = [];
  const { before, words } = wordsOf(plain);
  const printed =
    plain.length === 0
      ? Promise.resolve(0)
      : shell.ask(`(${inFolder}\n${before}\n${command(words).replace("grep -l", `grep -l ${grep.nulls}`)}\n)`, {
          data: (chunk) => chunks.push(chunk),
        });
  const statuses = odd.map((name) => {
    const { before: variables, words: word } = wordsOf([name]);
    return shell.ask(`(${inFolder}\n${variables}\n${command(word)} >/dev/null\n)`, { data: () => undefined });
  });
  await printed;
  const found = new Set(
    Buffer.concat(chunks)
      .toString("latin1")
      .split(grep.nulls === "" ? "\n" : "\0"),
  );
  for (const [index, status] of statuses.entries()) if ((await status) === 0) found.add(odd[index] ?? "");
  return names.filter((name) => found.has(name));
}

/** How many bytes stand before the first NUL of a file that has one. */
async function firstNul(name: string, inFolder: string, shell: ScriptShell): Promise<number> {
  const { before, words } = wordsOf([name]);
  let said = "";
  await shell.ask(`(${inFolder}\n${before}\ntr '\\n\\000' ' \\n' <${words} | head -n 1 | wc -c\n)`, {
    data: (chunk) => (said += chunk.toString("latin1")),
  });
  return Math.max(0, Number(said) - 1);
}

/**
 * The writer for a file. Of a binary file that was named (`offset`: where its first NUL is) ripgrep says only that it matches, where its first block or the line that
 * matches shows that it is binary.
 */
function writerOf(path: string, offset: number | undefined, { search, matcher: { check }, run }: How): FileLines {
  if (offset === undefined) return fileLines({ path, search, check, write: run.write });
  let isTold = false;
  return fileLines({
    path,
    search,
    check,
    write(bytes) {
      if (isTold) return;
      isTold = offset < BLOCK || bytes.includes(0, bytes.indexOf(0) + 1);
      run.write(isTold ? remark(path, "binary file matches", offset) : bytes);
    },
  });
}

function remark(path: string, words: string, offset: number): Buffer {
  return Buffer.from(`${path}: ${words} (found "\\0" byte around offset ${offset})\n`, "latin1");
}

function hasLineBreak(name: string): boolean {
  return name.includes("\n");
}

/** What grep said of files, as ripgrep says it, each once. */
function complaintsOf(said: string, folder: string): readonly string[] {
  const complaints = said.split("\n").flatMap((line) => {
    const [, path, what] =
      /(?:grep|sh|dd|tr)(?::[^:]*\d+)?: (?:can't open |cannot open )?['‘]?(\.\/.*?)['’]?: (.*)$/.exec(line) ?? [];
    return path === undefined ? [] : [`${posix.join(folder, Buffer.from(path, "latin1").toString("utf8"))}: ${what}`];
  });
  return [...new Set(complaints)];
}
