import { isAscii } from "node:buffer";
import { posix } from "node:path";
import type { Backend, Files, Process } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { FindQuery, FindResult, SearchInput, SearchQuery, SearchResult } from "../../core/contract/search.ts";
import { isInside } from "../../core/util/paths.ts";
import { foldersAbove, ignoreRules, readRules } from "./ignore-rules.ts";
import { foreignArguments, withForeign } from "./encodings.ts";
import { withExcerpts } from "./excerpts.ts";
import { type LineSearch, firstMatches } from "./lines.ts";
import { plainSearch, plainSearchNote } from "./plain.ts";
import { type SearchPrograms, type Searching, startIn } from "./programs.ts";
import { RIPGREP_ARGUMENTS, blocks, complaints, fileArguments, grepComplaints, lineArguments } from "./ripgrep.ts";
import { walk } from "./walk.ts";

/** How long a sorted search may take before a faster one replaces it, in milliseconds. */
const PATIENCE_MS = 10;

/** How many paths are matched at a time. */
const BATCH = 20_000;

export interface SearchingOptions {
  readonly programs: SearchPrograms;
  readonly files: Pick<Files, "open" | "stat">;
  /** Starts ripgrep on this machine, to search its stdin. */
  startHere(args: readonly string[], signal: AbortSignal | undefined): Promise<Process>;
  /** How long a sorted search may take, in milliseconds. Default: 10. */
  readonly patienceMs?: number;
}

/** Creates the search of a backend: with ripgrep, or with find and grep, which can do less. */
export function createSearching(options: SearchingOptions): Pick<Backend, "search" | "find"> {
  return {
    search: (query) => letGoAfter(query, options, (own) => searchingOf(own).search(query)),
    find: (query) => letGoAfter(query, options, (own) => searchingOf(own).find(query)),
  };
}

/** Runs a query, then ends its processes and disposes of their output. Waits for this after an abort too. */
async function letGoAfter<T>(
  { signal }: Pick<SearchQuery, "signal">,
  { programs, startHere, ...options }: SearchingOptions,
  answer: (own: SearchingOptions) => Promise<T>,
): Promise<T> {
  const started: Promise<Process>[] = [];
  const kept = (starting: Promise<Process>) => {
    started.push(starting);
    return starting;
  };
  const letGo = async (starting: Promise<Process>) => {
    const process = await starting.catch(() => undefined);
    await process?.kill();
    await Promise.all([process?.output.dispose(), process?.errors?.dispose()]);
  };
  try {
    return await answer({
      ...options,
      programs: { ...programs, start: (command) => kept(programs.start(command)) },
      startHere: (args, stopped) => kept(startHere(args, stopped)),
    });
  } finally {
    const gone = Promise.all(started.map(letGo));
    if (signal?.aborted === true) await gone;
  }
}

function searchingOf(options: SearchingOptions): Pick<Backend, "search" | "find"> {
  const { programs, files, startHere, patienceMs = PATIENCE_MS } = options;
  const byRipgrep = (query: SearchQuery, path: string, ripgrep: string): LineSearch => ({
    query,
    separator: 0,
    start: (sorted) =>
      startRipgrep(programs, ripgrep, { ...query, path }, [
        ...lineArguments(query),
        ...(sorted ? ["--sort=path"] : []),
      ]),
    ended: (searching) => complaints(searching, path, programs),
  });
  const byGrep = (query: SearchQuery, path: string): LineSearch => ({
    query,
    separator: 58,
    start: () => startIn(programs, path, plainSearch({ ...query, path }), { words: [], signal: query.signal }),
    ended: (searching) => grepComplaints(searching, path, programs),
  });
  const inInput = (query: SearchQuery, input: SearchInput): LineSearch => ({
    query,
    separator: 0,
    async start() {
      const args = [...RIPGREP_ARGUMENTS, ...lineArguments(query), "--text", "-"];
      const process = await startHere(args, query.signal);
      void feed(process, input);
      return { process, absolute: () => query.path };
    },
    ended: (searching) => complaints(searching, query.path, programs),
  });

  return {
    async search(query): Promise<SearchResult> {
      requireOneLine(query.pattern);
      const ripgrep = query.input === undefined ? await programs.ripgrep() : undefined;
      const path = await narrowed(query, files);
      const search =
        query.input !== undefined
          ? inInput(query, query.input)
          : ripgrep !== undefined
            ? byRipgrep(query, path, ripgrep)
            : byGrep(query, path);
      const list = async () => (ripgrep === undefined ? [] : listForeign({ ...query, path }, ripgrep, programs));
      // On a remote host it takes a round trip.
      const listed = programs.isFar === true && isAscii(Buffer.from(query.pattern)) ? undefined : list();
      const { ending, foreign, ...first } = await firstMatches(search, patienceMs, programs);
      const hasMore = ending === "full";
      if (ripgrep === undefined) {
        const notes = search.separator === 58 ? [plainSearchNote(programs.place)] : [];
        return { ...first, hasMore, notes };
      }
      const found = { ...(await withExcerpts(first, { ...query, path }, ripgrep, programs)), hasMore };
      const paths = new Set([...foreign, ...(hasMore ? [] : await (listed ?? (first.matches === 0 ? list() : [])))]);
      if (paths.size === 0) return { ...found, notes: [] };
      return await withForeign(
        found,
        { ...query, path },
        {
          ...{ files, paths },
          search: (file, text) =>
            firstMatches(inInput({ ...withoutJudge(query), path: file }, textInput(text)), patienceMs, programs),
        },
      );
    },

    async find(query): Promise<FindResult> {
      const { path, kinds = ["file", "folder", "link"], pick = (paths) => paths } = query;
      const ripgrep = await programs.ripgrep();
      const wants = (kind: "file" | "folder" | "link") => kinds.includes(kind);
      const [listed, walked] = await Promise.all([
        wants("file") && ripgrep !== undefined ? listFiles(query, ripgrep, programs) : NOTHING_LISTED,
        wants("folder") || wants("link") || ripgrep === undefined
          ? walk(query, { programs, files, withFiles: wants("file") && ripgrep === undefined })
          : undefined,
      ]);
      const kept = (kind: "file" | "folder" | "link", paths: readonly string[] = []) =>
        wants(kind)
          ? pick(paths).filter(
              (each) => !walked?.rules.ignores(posix.join(path, each), kind === "folder" ? kind : "file"),
            )
          : [];
      return {
        files: ripgrep === undefined ? kept("file", walked?.files) : listed.files,
        folders: kept("folder", walked?.folders),
        links: kept("link", walked?.links),
        complaints: listed.complaints || (walked?.complaints ?? ""),
        notes: [], // find and the rules of `.gitignore` files answer this as ripgrep does
      };
    },
  };
}

function withoutJudge({ judge: _, ...query }: SearchQuery): SearchQuery {
  return query;
}

function textInput(text: string): SearchInput {
  const bytes = Buffer.from(text);
  return { read: async (offset, length) => bytes.subarray(offset, offset + length), close: async () => {} };
}

/** Lists the files that need `withForeign`, as far as that is known. Never rejects. */
async function listForeign(query: SearchQuery, ripgrep: string, programs: SearchPrograms): Promise<readonly string[]> {
  try {
    const searching = await startRipgrep(programs, ripgrep, query, await foreignArguments(query.pattern));
    const paths: string[] = [];
    for await (const block of blocks(searching.process, 0, query.signal ?? new AbortController().signal))
      for (const name of block.toString("utf8").split("\0")) if (name !== "") paths.push(searching.absolute(name));
    return paths;
  } catch {
    return [];
  }
}

const NOTHING_LISTED = { files: [], complaints: "" };

/** Lists the matching files that are not ignored, relative to the folder. */
async function listFiles(
  query: FindQuery,
  ripgrep: string,
  programs: SearchPrograms,
): Promise<{ readonly files: readonly string[]; readonly complaints: string }> {
  const { path, pick = (paths) => paths, signal = new AbortController().signal } = query;
  const searching = await startRipgrep(programs, ripgrep, query, ["--files"]);
  const files: string[] = [];
  let waiting: string[] = [];
  const judge = () => {
    for (const each of pick(waiting)) files.push(each);
    waiting = [];
  };
  for await (const block of blocks(searching.process, 0, signal)) {
    for (const name of block.toString("utf8").split("\0")) waiting.push(name.slice(2));
    if (waiting.length >= BATCH) judge();
  }
  judge();
  signal.throwIfAborted();
  return { files, complaints: await complaints(searching, path, programs) };
}

function startRipgrep(
  programs: SearchPrograms,
  ripgrep: string,
  query: Pick<SearchQuery, "path" | "git" | "ignored" | "names" | "except" | "signal">,
  args: readonly string[],
): Promise<Searching> {
  const words = [ripgrep, ...RIPGREP_ARGUMENTS, ...args, ...fileArguments(query), "--"];
  return startIn(programs, query.path, 'exec "$@" "$n"', { words, signal: query.signal });
}

/** Resolves to the folder `under`, if it is a folder that is not ignored: nothing else is searched then. */
async function narrowed(
  { path, under = "", input, ignored = false }: SearchQuery,
  files: SearchingOptions["files"],
): Promise<string> {
  if (under === "" || input !== undefined) return path;
  const folder = posix.join(path, under);
  if (!isInside(folder, path)) return path;
  const info = await files.stat(folder, { real: true }).catch(() => undefined);
  if (info?.kind !== "folder") return path;
  if (ignored) return folder;
  const rules = ignoreRules(path, await readRules(foldersAbove(folder, path), files));
  return rules.ignores(folder, "folder") ? path : folder;
}

async function feed(process: Process, file: SearchInput): Promise<void> {
  try {
    const decoder = new TextDecoder();
    for (let offset = 0; ;) {
      const chunk = await file.read(offset, 1024 * 1024);
      if (chunk.length === 0) break;
      offset += chunk.length;
      await process.write(decoder.decode(chunk, { stream: true }));
    }
    await process.endInput();
  } catch {
    await process.kill(); // it was stopped at the limit, or the output cannot be read
  } finally {
    await file.close();
  }
}

function requireOneLine(pattern: string): void {
  if (!/[\0\n]/.test(pattern)) return;
  throw new ToolFailure("the pattern contains a line break or NUL byte, but each line is searched separately", {
    hint: "Search for one of its lines, and use context_lines to see the others.",
  });
}
