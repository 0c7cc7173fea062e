import type { Process } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { SearchQuery } from "../../contract/search.ts";
import { displayPath } from "../../util/paths.ts";
import { clip } from "../../util/text.ts";
import { type SearchPrograms, type Searching, below, untilEnded } from "./programs.ts";

/**
 * Always given: nothing of the user's or the project's configures our search (RIPGREP_CONFIG_PATH does not reach it either),
 * and of all files that say what to leave out only git's own count, outside git too.
 */
export const RIPGREP_ARGUMENTS: readonly string[] = [
  "--no-config",
  "--no-require-git",
  "--no-ignore-global",
  "--no-ignore-dot", // .ignore and .rgignore
  "--hidden",
  "--color=never",
  "--null",
];

/** A longer record than this is cut; file names and the lines we ask for are far shorter. */
const MAX_RECORD = 64 * 1024;

/** Of what a program complained about so much is read: the longest pattern, twice. */
const MAX_COMPLAINTS = 256 * 1024;

/** So many files that could not be searched are named. */
const NAMED_COMPLAINTS = 3;

/**
 * What a program writes, as it comes, in blocks of whole records; the separator behind a block's last record is left out.
 *
 * @throws ToolFailure when it was more than is kept.
 */
export async function* blocks(process: Process, separator: number, signal: AbortSignal): AsyncIterable<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of process.output.follow(signal)) {
    const read = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = rest.length === 0 ? read : Buffer.concat([rest, read]);
    const end = bytes.lastIndexOf(separator);
    if (end !== -1) yield bytes.subarray(0, end);
    rest = bytes.subarray(end + 1, end + 1 + MAX_RECORD);
  }
  const { size, kept } = process.output;
  if (size > kept)
    throw new ToolFailure("the search finds more than can be looked through", {
      hint: "Use a narrower pattern or path.",
    });
  if (rest.length > 0) yield rest;
}

/** What ripgrep is given to search for lines, without the sorting. */
export function lineArguments({
  pattern,
  literal = false,
  caseSensitive = false,
  contextLines = 0,
  maxMatches,
  maxCharacters,
}: SearchQuery): readonly string[] {
  return [
    "--with-filename",
    "--line-number",
    "--no-heading",
    "--no-context-separator",
    // Over this many bytes ripgrep shows a beginning; the cut to characters is made here. No encoding has more than 4 bytes a character.
    `--max-columns=${4 * maxCharacters + 4}`,
    "--max-columns-preview",
    caseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(literal ? ["--fixed-strings"] : []),
    // Lets "$" match before "\r\n" too, but then a "\r" cannot be asked for.
    ...(/\r|\\r|\\x0?d/i.test(pattern) ? [] : ["--crlf"]),
    ...(contextLines > 0 ? [`--context=${contextLines}`] : []),
    // From one file no more can count.
    `--max-count=${maxMatches + 1}`,
    `--regexp=${pattern}`,
  ];
}

/** What says which files of a folder are searched; the paths in `except` are real and below `path`. */
export function fileArguments({
  path,
  git = false,
  names = [],
  except,
}: Pick<SearchQuery, "path" | "git" | "names" | "except">): readonly string[] {
  return [
    ...(git ? [] : ["--glob=!.git"]),
    // ripgrep's types, other than its globs, leave .gitignore in force.
    ...names.map((name) => `--type-add=meant:${name}`),
    ...(names.length > 0 ? ["--type=meant"] : []),
    // The last glob that matches decides, so that none of the others can take these back.
    ...below(path, except).map((each) => `--glob=!/${each.replace(/[\\*?[\]{}! ]/g, String.raw`\$&`)}`),
  ];
}

/**
 * Waits for ripgrep to end and says in one line what it could not search; "" for nothing.
 *
 * @throws ToolFailure when it cannot search for the pattern, and when it was ended from outside.
 */
export async function complaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const said = await saidBy(searching, path, /^rg: /m);
  // What is wrong with the question is said before any file is opened; what is said of a file begins with its path.
  const [first] = said;
  if (first !== undefined && !first.startsWith("./")) throw questionFailure(first);
  return inOneLine(said, searching, programs);
}

/** The same of a search with grep. */
export async function grepComplaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const said = await plainComplaints(searching, path, programs);
  const errors = Buffer.from((await searching.process.errors?.read(0, MAX_COMPLAINTS)) ?? []).toString("utf8");
  // What is said of a file has its path in it; what is said of the pattern has none.
  const [about] = /^\S*grep: (?!\.\/).*$/m.exec(errors) ?? [];
  if (about === undefined) return said;
  throw new ToolFailure(`the pattern cannot be searched for: ${clip(about, 300)}`, {
    hint: "Without ripgrep it is a POSIX extended regular expression, for one line at a time; for plain text give literal: true.",
  });
}

/** The same of find and grep. */
export async function plainComplaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const said = await saidBy(searching, path, /^\S*(?:find|grep): /m);
  // Some quote the path: '/ws/locked': Permission denied
  return inOneLine(
    said.map((part) => part.replace(/^['‘](.*)['’](?=: )/s, "$1")),
    searching,
    programs,
  );
}

async function saidBy({ process }: Searching, path: string, before: RegExp): Promise<readonly string[]> {
  await untilEnded(process, path);
  const text = Buffer.from((await process.errors?.read(0, MAX_COMPLAINTS)) ?? []).toString("utf8");
  return text
    .split(before)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Half of what ripgrep says advises flags that nobody can give here. */
function questionFailure(said: string): ToolFailure {
  const what = said.replace(/\n\s*(Consider enabling|When multiline mode)[\s\S]*$/, "");
  const brief = what.length <= 1_000 ? what : (/^error: .*$/m.exec(what)?.[0] ?? clip(what, 1_000));
  return new ToolFailure(`the pattern cannot be searched for: ${brief}`, {
    hint:
      "It is a regular expression of Rust's regex crate, for one line at a time (no look-around, no back-references, no line " +
      "breaks); for plain text give literal: true.",
  });
}

/** Sorted: searching in parallel, ripgrep says it in any order. */
function inOneLine(said: readonly string[], searching: Searching, { base }: SearchPrograms): string {
  const all = said.map((part) => withPathShown(part, searching, base)).sort();
  const more = all.length - NAMED_COMPLAINTS;
  return [...all.slice(0, NAMED_COMPLAINTS), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** "./locked: IO error for operation on ./locked: Permission denied (os error 13)" becomes "locked: Permission denied". */
function withPathShown(said: string, { absolute }: Searching, base: SearchPrograms["base"]): string {
  const brief = clip(
    said
      .replace(/ \(os error \d+\)$/, "")
      .replace(/^(.*: )IO error for operation on \1/s, "$1")
      .replace(/\s+/g, " "),
    300,
  );
  const colon = brief.indexOf(": ");
  return colon === -1 ? brief : displayPath(absolute(brief.slice(0, colon)), base) + brief.slice(colon);
}
