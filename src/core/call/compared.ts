import { createHash } from "node:crypto";
import type { Backend, FileEntry, Files } from "../contract/backend.ts";
import type { Effect } from "../contract/effect.ts";
import type { FindNamedFiles, NamedFiles } from "../contract/named-files.ts";
import type { ParkedCall } from "../contract/parked.ts";
import { quoteWords } from "../util/quote.ts";

/** The parts of what a person is asked about, each with a digest. */
export type About = ParkedCall["about"];

/** The digest of a part that cannot be compared: its call is asked about again, once. */
export const NOT_COMPARED = "not compared";

/** Files with more bytes are compared by size and time. */
const MAX_HASHED = 4_194_304;
/** The longest file in which scripts are looked for. */
const MAX_READ = 65_536;
/** How many files in turn are followed: a script that names a script. */
const MAX_TURNS = 3;
/** The most files of a pattern, and of a workspace, that are compared. */
const MOST_OF_PATTERN = 256;
const MOST_IN_WORKSPACE = 2_000;

/** Where the files of effects are, and how texts that name them are read. */
export interface Comparing {
  readonly files: Files;
  readonly place: Pick<Backend, "home" | "workDir">;
  readonly named: FindNamedFiles;
  /** Whether the effects happen again and again: what they only write is not compared. Default false. */
  readonly repeats?: boolean;
}

/**
 * The files that an approval of these effects is about, each with a digest of its content: files that are replaced, and
 * what a command names: its programs, scripts and other files, and the scripts that these name literally. If a word is
 * not literal, all files of the workspace are compared; `NOT_COMPARED` if they are too many, or the word could be
 * anything.
 */
export async function contentsOf(
  effects: readonly Effect[],
  comparing: Comparing,
): Promise<{ [part: string]: string }> {
  const about: { [part: string]: string } = {};
  const seen = new Set<string>();
  const addFile = async (path: string): Promise<string | undefined> => {
    if (seen.has(path)) return undefined;
    seen.add(path);
    const content = await contentOf(path, comparing.files);
    if (content !== undefined) about[`the content of ${content.real}`] = content.digest;
    return content?.text;
  };
  const follow = async (named: NamedFiles, cwd: string, turn: number): Promise<void> => {
    const ofPatterns = await Promise.all(named.patterns.map((each) => filesOfPattern(each, comparing.files)));
    for (const [at, paths] of ofPatterns.entries())
      if (paths === undefined) about[`the files in ${named.patterns[at]?.folder ?? ""}`] = NOT_COMPARED;
    const paths = [...named.paths, ...ofPatterns.flatMap((each) => each ?? [])];
    const texts = await Promise.all(paths.map(async (path) => [path, await addFile(path)] as const));
    if (turn === MAX_TURNS) return;
    for (const [path, text] of texts) {
      const inside = text === undefined ? undefined : read({ text, path }, cwd, comparing);
      if (inside !== undefined) await follow(inside, cwd, turn + 1);
    }
  };
  for (const effect of effects) {
    if (effect.kind === "write" && effect.real !== undefined) await addFile(effect.real);
    if (effect.kind !== "exec" || effect.real === undefined) continue;
    const named = namedBy(effect, effect.real, comparing);
    await follow(named, effect.real, 0);
    if (named.unknown.length > 0) Object.assign(about, await unknownParts(named.unknown, comparing));
  }
  // Files are read side by side: equal contents are to have an equal digest.
  return Object.fromEntries(Object.entries(about).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

type Exec = Extract<Effect, { kind: "exec" }>;

function namedBy({ command, env = {} }: Exec, cwd: string, comparing: Comparing): NamedFiles {
  // A variable may name what is loaded: BASH_ENV, PYTHONPATH.
  const all = [command, `: ${quoteWords(Object.values(env))}`].flatMap((text) => read({ text }, cwd, comparing) ?? []);
  return {
    paths: all.flatMap(({ paths }) => paths),
    patterns: all.flatMap(({ patterns }) => patterns),
    unknown: all.flatMap(({ unknown }) => unknown),
  };
}

function read(
  source: { readonly text: string; readonly path?: string },
  cwd: string,
  { named, place, repeats = false }: Comparing,
): NamedFiles | undefined {
  return named({ ...source, cwd, home: place.home, repeats });
}

/** The parts for words that are known only when the command runs. */
async function unknownParts(unknown: NamedFiles["unknown"], { files, place }: Comparing): Promise<About> {
  const state = unknown.every(({ isAnywhere }) => isAnywhere) ? NOT_COMPARED : await stateOf(place.workDir, files);
  return Object.fromEntries(
    unknown.map(({ text, isAnywhere }) => [`what ${text} is when it runs`, isAnywhere ? NOT_COMPARED : state]),
  );
}

/** A digest of all files of a folder with their content, but of git's own; `NOT_COMPARED` if they are too many. */
async function stateOf(folder: string, files: Files): Promise<string> {
  const hash = createHash("sha256");
  const open = [folder];
  let count = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const entries = await files.list(at).catch((): FileEntry[] => []);
    if ((count += entries.length) > MOST_IN_WORKSPACE) return NOT_COMPARED;
    for (const { name, kind, target } of entries) {
      const path = `${at}/${name}`;
      if (kind === "folder" && name !== ".git") open.push(path);
      const content = kind === "file" || kind === "link" ? await contentOf(path, files) : undefined;
      hash.update(JSON.stringify([path, kind, target, content?.digest]));
    }
  }
  return hash.digest("base64url");
}

/** The files that a pattern may name; `undefined` if they are too many. */
async function filesOfPattern(
  { folder, prefix, suffix }: NamedFiles["patterns"][number],
  files: Files,
): Promise<readonly string[] | undefined> {
  const entries = await files.list(folder).catch((): FileEntry[] => []);
  const names = entries.flatMap(({ name, kind }) =>
    (kind === "file" || kind === "link") && name.startsWith(prefix) && name.endsWith(suffix) ? [name] : [],
  );
  return names.length > MOST_OF_PATTERN ? undefined : names.map((name) => `${folder}/${name}`);
}

/** A regular file: its real path, the digest of its content, and the content if it may be a script. */
async function contentOf(path: string, files: Files) {
  const file = await files.open(path).catch(() => undefined);
  if (file === undefined) return undefined;
  try {
    const { size, version, path: real } = file.info;
    const content = size > MAX_HASHED ? version : await file.read(0, size);
    const digest = createHash("sha256").update(content).digest("base64url");
    const isText = typeof content !== "string" && size <= MAX_READ && !content.includes(0);
    return { real, digest, ...(isText && { text: Buffer.from(content).toString() }) };
  } catch {
    return undefined; // it was removed meanwhile
  } finally {
    await file.close();
  }
}
