import type { Process } from "../../core/contract/backend.ts";
import type { FoundLine, SearchQuery, SearchResult } from "../../core/contract/search.ts";
import { byKey, pathOrderKey } from "../../core/util/path-order.ts";
import type { SearchPrograms, Searching } from "./programs.ts";
import { blocks } from "./ripgrep.ts";
import { tried } from "../../core/util/errors.ts";

/** A line search, which can be started once or more. */
export interface LineSearch {
  readonly query: SearchQuery;
  /** Starts the search program. `sorted`: in the order of paths, on one thread. */
  start(sorted: boolean): Promise<Searching>;
  /** Waits for the program's end. Resolves to what could not be searched, in one line, or "". */
  ended(searching: Searching): Promise<string>;
  /** The byte after a path: NUL, or a colon in the output of plain grep. */
  readonly separator: 0 | 58;
}

type Found = Omit<SearchResult, "hasMore" | "notes"> & {
  /** "full": there are more matches than requested. "late": time ran out, so the result is incomplete. */
  readonly ending: "all" | "full" | "late";
  /** Files with a line that is not UTF-8. */
  readonly foreign: ReadonlySet<string>;
};

/**
 * Resolves to the first matches in the order of paths. A sorted ripgrep uses one thread, but reaches the limit at once
 * if there are many matches. So it runs first, and after `patienceMs` a faster, unsorted search replaces it. Only if
 * that search finds too many matches, a sorted search runs again to select the first ones. On a remote host, where
 * starting and stopping take longer than sorting, the unsorted search runs first. The result is always the same.
 */
export async function firstMatches(
  search: LineSearch,
  patienceMs: number,
  { isFar = false }: Pick<SearchPrograms, "isFar">,
): Promise<Found> {
  if (search.query.input !== undefined || search.separator !== 0) return collect(search, { sorted: false });
  if (!isFar) {
    const soon = await collect(search, { sorted: true, patienceMs });
    if (soon.ending !== "late") return soon;
  }
  const found = await collect(search, { sorted: false });
  return found.ending === "full" ? collect(search, { sorted: true }) : found;
}

interface Way {
  readonly sorted: boolean;
  /** Time limit from the start, in milliseconds. Default: none. */
  readonly patienceMs?: number;
}

/** Runs one search and collects its matches. Throws the signal's reason when the signal fires. */
async function collect(search: LineSearch, { sorted, patienceMs }: Way): Promise<Found> {
  const { maxMatches, contextLines = 0, signal = NEVER } = search.query;
  const searching = await search.start(sorted);
  const { process } = searching;
  const late = new AbortController();
  const timer = patienceMs === undefined ? undefined : setTimeout(() => late.abort(), patienceMs);
  const fileAt = currentFile(search.query, searching);
  const lines: Entry[] = [];
  const hidden = new Set<string>();
  const foreign = new Set<string>();
  let matches = 0;
  let binary = 0;
  let full = false;
  try {
    for await (const { path, rest } of records(process, search.separator, AbortSignal.any([signal, late.signal]))) {
      const file = fileAt(path);
      if (file.judged === "skipped") continue;
      const line = rest === undefined ? undefined : parse(rest, search.query.maxCharacters);
      if (line === undefined) {
        if (file.judged === "shown") binary++;
        continue;
      }
      if (file.judged === "hidden") {
        if (line.match) hidden.add(file.key);
        continue;
      }
      full = line.match && matches === maxMatches;
      if (full) break;
      if (line.match) matches++;
      if (line.isForeign) foreign.add(file.path);
      lines.push({ ...line, path: file.path, key: file.key });
    }
  } finally {
    clearTimeout(timer);
  }
  signal.throwIfAborted();
  const ending = full ? "full" : late.signal.aborted ? "late" : "all";
  if (ending !== "all") void process.kill();
  const complaints = ending === "all" ? await search.ended(searching) : "";
  signal.throwIfAborted();
  const shown = full ? withoutContextBehind(lines, contextLines) : sorted ? lines : lines.toSorted(byKey);
  return {
    lines: shown.map(({ path, line, text, match }) => ({ path, line, text, match })),
    matches,
    cut: shown.filter(({ cut }) => cut).length,
    ending,
    hidden: hidden.size,
    binary,
    complaints,
    foreign,
  };
}

const NEVER = new AbortController().signal;

type Entry = FoundLine & { readonly key: string; readonly cut: boolean };

/** `isForeign`: the line is not UTF-8. */
type Parsed = Omit<Entry, "path" | "key"> & { readonly isForeign: boolean };

/** One line of ripgrep's output. `rest: undefined`: the file is binary. */
interface Said {
  readonly path: Buffer;
  readonly rest: Buffer | undefined;
}

/** Splits output into records `path NUL line : text`. A path may contain line breaks. */
async function* records(process: Process, separator: number, signal: AbortSignal): AsyncIterable<Said> {
  let before: Buffer[] = [];
  for await (const block of blocks(process, LINE_BREAK, signal)) {
    for (const piece of split(block)) {
      const nul = piece.indexOf(separator);
      const path = nul === -1 ? binaryPath(piece) : piece.subarray(0, nul);
      if (path === undefined && separator !== 0) continue; // a remark of grep's
      if (path === undefined) {
        before.push(piece, Buffer.of(LINE_BREAK)); // the beginning of a path
        continue;
      }
      yield {
        path: before.length === 0 ? path : Buffer.concat([...before, path]),
        rest: nul === -1 ? undefined : piece.subarray(nul + 1),
      };
      before = [];
    }
  }
}

const LINE_BREAK = 10;

function* split(block: Buffer): Iterable<Buffer> {
  let start = 0;
  for (let end = block.indexOf(LINE_BREAK); end !== -1; end = block.indexOf(LINE_BREAK, start)) {
    yield block.subarray(start, end);
    start = end + 1;
  }
  yield block.subarray(start);
}

const BINARY =
  /: (?:WARNING: stopped searching )?binary file (?:after match|matches) \(found .{1,10} byte around offset \d+\)$/s;

/** The path in ripgrep's message about a binary file; `undefined` for other text. */
function binaryPath(piece: Buffer): Buffer | undefined {
  const remark = BINARY.exec(piece.toString("latin1"));
  return remark === null ? undefined : piece.subarray(0, remark.index);
}

interface File {
  readonly key: string;
  readonly path: string;
  readonly judged: "shown" | "hidden" | "skipped";
}

/** Returns a function that judges a file once for all its lines. The lines of one file come together. */
function currentFile({ judge = () => "shown" as const }: SearchQuery, { absolute }: Searching): (path: Buffer) => File {
  let last: Buffer | undefined;
  let file: File = { key: "", path: "", judged: "skipped" };
  return (name) => {
    if (last?.equals(name) === true) return file;
    const path = absolute(name.toString("utf8"));
    last = name;
    file = { key: pathOrderKey(name), path, judged: judge(path) };
    return file;
  };
}

/** Parses `line : text` of a match; context lines have `-`. */
function parse(rest: Buffer, maxCharacters: number): Parsed | undefined {
  const decoded = tried(() => UTF_8.decode(rest));
  const [, number, kind, text = ""] = /^(\d+)([:-])(.*)$/s.exec(decoded ?? WINDOWS_1252.decode(rest)) ?? [];
  if (number === undefined) return undefined;
  const line = number === "1" ? text.replace(/^\ufeff/, "") : text;
  return {
    line: Number(number),
    match: kind === ":",
    isForeign: decoded === undefined,
    ...cutLine(line.replace(/\r$/, "").replaceAll("\0", "\ufffd"), maxCharacters),
  };
}

// Source text is almost always UTF-8, else windows-1252.
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const WINDOWS_1252 = new TextDecoder("windows-1252");

/** Cuts text to `most` code points, followed by "…" (ripgrep may already have cut the line). */
function cutLine(text: string, most: number): { text: string; cut: boolean } {
  const characters = Array.from(text.slice(0, 2 * most + 2));
  if (characters.length <= most) return { text, cut: false };
  return { text: `${characters.slice(0, most).join("")}…`, cut: true };
}

/** Removes the context of the match at which the search stopped, which is not shown. */
function withoutContextBehind(lines: readonly Entry[], context: number): readonly Entry[] {
  const last = lines.findLastIndex(({ match }) => match);
  const { key, line } = lines[last] ?? { key: "", line: 0 };
  return lines.filter((other, index) => index <= last || (other.key === key && other.line <= line + context));
}
