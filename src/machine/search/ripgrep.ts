import type { Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { SearchQuery } from "../../core/contract/search.ts";
import { displayPath } from "../../core/util/paths.ts";
import { clip } from "../../core/util/text.ts";
import { type SearchPrograms, type Searching, below, untilEnded } from "./programs.ts";

/**
 * Arguments of every search. No configuration of the user or the project applies (RIPGREP_CONFIG_PATH is not passed
 * either). Of all ignore files only git's count, even outside a repository.
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

/** The longest record. A longer record is cut; file names and the requested lines are far shorter. */
const MAX_RECORD = 64 * 1024;

/** Bytes of error messages that are read: the longest pattern, twice. */
const MAX_COMPLAINTS = 256 * 1024;

/** How many files that could not be searched are named. */
const NAMED_COMPLAINTS = 3;

/** Yields output in blocks of whole records, without the last separator. @throws ToolFailure for too much. */
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
    throw new ToolFailure("the search has too many results", { hint: "Use a narrower pattern or path." });
  if (rest.length > 0) yield rest;
}

/** Returns ripgrep's arguments that say what matches. */
export function matchArguments({
  pattern,
  literal = false,
  caseSensitive = false,
}: Pick<SearchQuery, "pattern" | "literal" | "caseSensitive">): readonly string[] {
  return [
    caseSensitive ? "--case-sensitive" : "--ignore-case",
    ...(literal ? ["--fixed-strings"] : []),
    // Lets "$" also match before "\r\n"; but then a pattern cannot contain "\r".
    ...(/\r|\\r|\\x0?d/i.test(pattern) ? [] : ["--crlf"]),
    `--regexp=${pattern}`,
  ];
}

/** Returns ripgrep's arguments for a line search, without the sorting. */
export function lineArguments(query: SearchQuery): readonly string[] {
  const { contextLines = 0, maxMatches, maxCharacters } = query;
  return [
    "--with-filename",
    "--line-number",
    "--no-heading",
    "--no-context-separator",
    // Over this many bytes ripgrep shows a beginning; the cut to characters is made here. No encoding has more than 4
    // bytes a character.
    `--max-columns=${4 * maxCharacters + 4}`,
    "--max-columns-preview",
    ...(contextLines > 0 ? [`--context=${contextLines}`] : []),
    // More matches in one file than requested are never needed.
    `--max-count=${maxMatches + 1}`,
    ...matchArguments(query),
  ];
}

/** Returns the arguments that select the files of a folder. The paths in `except` are real and below `path`. */
export function fileArguments(
  query: Pick<SearchQuery, "path" | "git" | "ignored" | "names" | "except">,
): readonly string[] {
  const { path, git = false, ignored = false, names = [], except } = query;
  return [
    ...(ignored ? ["--no-ignore"] : []),
    ...(git ? [] : ["--glob=!.git"]),
    // Types respect .gitignore, unlike globs.
    ...names.map((name) => `--type-add=meant:${name}`),
    ...(names.length > 0 ? ["--type=meant"] : []),
    // The last matching glob counts, so no other glob can include these files again.
    ...below(path, except).map((each) => `--glob=!/${each.replace(/[\\*?[\]{}! ]/g, String.raw`\$&`)}`),
  ];
}

/** Waits for ripgrep. Resolves to what it could not search, in one line, or "". @throws ToolFailure if it failed. */
export async function complaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const found = await errorsOf(searching, path, /^rg: /m);
  // Errors in the arguments come before any file is opened. Errors about a file begin with its path.
  const [first] = found;
  if (first !== undefined && !first.startsWith("./")) throw questionFailure(first);
  return inOneLine(found, searching, programs);
}

/** Returns the complaints of a search with grep. */
export async function grepComplaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const found = await plainComplaints(searching, path, programs);
  const errors = Buffer.from((await searching.process.errors?.read(0, MAX_COMPLAINTS)) ?? []).toString("utf8");
  // A message about a file contains its path; a message about the pattern does not.
  const [about] = /^\S*grep: (?!\.\/).*$/m.exec(errors) ?? [];
  if (about === undefined) return found;
  throw new ToolFailure(`the pattern cannot be searched for: ${clip(about, 300)}`, {
    hint:
      "Without ripgrep, a pattern is a POSIX extended regular expression, for one line at a time; " +
      "for plain text give literal: true.",
  });
}

/** Returns the complaints of find and grep. */
export async function plainComplaints(searching: Searching, path: string, programs: SearchPrograms): Promise<string> {
  const found = await errorsOf(searching, path, /^\S*(?:find|grep): /m);
  // Some programs quote the path: '/ws/locked': Permission denied
  return inOneLine(
    found.map((part) => part.replace(/^['‘](.*)['’](?=: )/s, "$1")),
    searching,
    programs,
  );
}

async function errorsOf({ process }: Searching, path: string, before: RegExp): Promise<readonly string[]> {
  await untilEnded(process, path);
  const text = Buffer.from((await process.errors?.read(0, MAX_COMPLAINTS)) ?? []).toString("utf8");
  return text
    .split(before)
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Drops advice about flags that cannot be given here. */
function questionFailure(error: string): ToolFailure {
  const what = error.replace(/\n\s*(Consider enabling|When multiline mode)[\s\S]*$/, "");
  const brief = what.length <= 1_000 ? what : (/^error: .*$/m.exec(what)?.[0] ?? clip(what, 1_000));
  return new ToolFailure(`the pattern cannot be searched for: ${brief}`, {
    hint:
      "Patterns have the syntax of Rust's regex crate, for one line at a time (no look-around, no back-references, " +
      "no line breaks); for plain text give literal: true.",
  });
}

/** Sorted, since ripgrep searches in parallel and reports in any order. */
function inOneLine(found: readonly string[], searching: Searching, { base }: SearchPrograms): string {
  const all = found.map((part) => withPathShown(part, searching, base)).sort();
  const more = all.length - NAMED_COMPLAINTS;
  return [...all.slice(0, NAMED_COMPLAINTS), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** "./locked: IO error for operation on ./locked: Permission denied (os error 13)": "locked: Permission denied". */
function withPathShown(complaint: string, { absolute }: Searching, base: SearchPrograms["base"]): string {
  const brief = clip(
    complaint
      .replace(/ \(os error \d+\)$/, "")
      .replace(/^(.*: )IO error for operation on \1/s, "$1")
      .replace(/\s+/g, " "),
    300,
  );
  const colon = brief.indexOf(": ");
  return colon === -1 ? brief : displayPath(absolute(brief.slice(0, colon)), base) + brief.slice(colon);
}
