import type { Process, ToolBackend } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { displayPath } from "../../util/paths.ts";
import { clip } from "../../util/text.ts";

/**
 * Always given: nothing of the user's or the project's configures our search (RIPGREP_CONFIG_PATH does not reach a helper either),
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

/** Of what a helper complained about so much is read: the longest pattern, twice. */
const MAX_COMPLAINTS = 256 * 1024;

/** So many files that could not be searched are named. */
const NAMED_COMPLAINTS = 3;

/**
 * What a helper writes, as it comes, in blocks of whole records; the separator behind a block's last record is left out.
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

/** Whether a pattern or glob names git's own folder, which is searched only then: ".git/config" and "{.git,src}/**" do; "!.git" does not. */
export function namesGit(pattern: string): boolean {
  return !pattern.startsWith("!") && /(^|\/)(\{([^{}/]*,)?)?\.git([/,}*?]|$)/.test(pattern);
}

/** Keeps ripgrep out of git's own folder, unless that is meant. */
export function gitArguments(git: boolean): readonly string[] {
  return git ? [] : ["--glob=!.git"];
}

/**
 * Waits for ripgrep to end and says in one line what it could not search; "" for nothing. `root` is what it was given to search;
 * `undefined` for stdin.
 *
 * @throws ToolFailure when it cannot search for the pattern, and when it was ended from outside.
 */
export async function complaints(process: Process, root: string | undefined, backend: ToolBackend): Promise<string> {
  const said = (await saidBy(process))
    .split(/^rg: /m)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  await requireEnded(process);
  // What is wrong with the question is said before any file is opened; what is said of a file begins with its path.
  const [first] = said;
  if (first !== undefined && (root === undefined || !first.startsWith(root))) throw questionFailure(first);
  return inOneLine(said, root ?? "", backend);
}

/** The same of the program find. */
export async function findComplaints(process: Process, root: string, backend: ToolBackend): Promise<string> {
  const said = (await saidBy(process))
    .split(/^\S*find: /m)
    .map((part) => part.trim())
    .filter((part) => part !== "");
  await requireEnded(process);
  // Some quote the path: '/ws/locked': Permission denied
  return inOneLine(
    said.map((part) => part.replace(/^['‘](.*)['’](?=: )/s, "$1")),
    root,
    backend,
  );
}

async function saidBy({ exit, errors }: Process): Promise<string> {
  await exit;
  return Buffer.from((await errors?.read(0, MAX_COMPLAINTS)) ?? []).toString("utf8");
}

async function requireEnded({ exit }: Process): Promise<void> {
  const how = await exit;
  if (how.how === "signaled")
    throw new ToolFailure(`the search was ended from outside (${how.signal})`, { hint: "Try again." });
  if (how.how === "lost")
    throw new ToolFailure(`the search did not come to its end: ${how.reason}`, { hint: "Try again." });
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
function inOneLine(said: readonly string[], root: string, backend: ToolBackend): string {
  const all = said.map((part) => withPathShown(part, root, backend)).sort();
  const more = all.length - NAMED_COMPLAINTS;
  return [...all.slice(0, NAMED_COMPLAINTS), ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

/** "/ws/locked: IO error for operation on /ws/locked: Permission denied (os error 13)" becomes "locked: Permission denied". */
function withPathShown(said: string, root: string, backend: ToolBackend): string {
  const brief = clip(
    said
      .replace(/ \(os error \d+\)$/, "")
      .replace(/^(.*: )IO error for operation on \1/s, "$1")
      .replace(/\s+/g, " "),
    300,
  );
  const colon = brief.indexOf(": ", root.length);
  return colon === -1 ? brief : displayPath(brief.slice(0, colon), backend) + brief.slice(colon);
}
