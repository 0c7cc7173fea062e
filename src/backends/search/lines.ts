import type { Process } from "../../contract/backend.ts";
import type { FoundLine, SearchQuery, SearchResult } from "../../contract/search.ts";
import { byKey, pathOrderKey } from "../../util/path-order.ts";
import type { SearchPrograms, Searching } from "./programs.ts";
import { blocks } from "./ripgrep.ts";

/** A question to a program, asked once or more. */
export interface LineSearch {
  readonly query: SearchQuery;
  /** `sorted`: in the order of paths, on one thread. */
  start(sorted: boolean): Promise<Searching>;
  /** Waits for its end. Resolves to what could not be searched. */
  ended(searching: Searching): Promise<string>;
  /** What stands behind a path: a NUL byte, or in the output of a plain grep a colon. */
  readonly separator: 0 | 58;
}

type Found = Omit<SearchResult, "hasMore" | "notes"> & {
  /** "full": there are more matches than were asked for. "late": its time was up, so all of this is a part. */
  readonly ending: "all" | "full" | "late";
};

/**
 * The first matches in the order of paths, found as fast as that can be known: sorted, ripgrep uses one thread, but where there is
 * much to find it reaches the limit at once. So after `patienceMs` a faster search in no order is begun; only when that one finds too many has
 * a sorted one to tell which of them come first. Far away, where starting and stopping takes longer than sorting saves, the faster one comes
 * first. All ways lead to the same result.
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
  /** From its start. Default: no limit. */
  readonly patienceMs?: number;
}

/** Throws the signal's reason when that fires. */
async function collect(search: LineSearch, { sorted, patienceMs }: Way): Promise<Found> {
  const { maxMatches, contextLines = 0, signal = NEVER } = search.query;
  const searching = await search.start(sorted);
  const { process } = searching;
  const late = new AbortController();
  const timer = patienceMs === undefined ? undefined : setTimeout(() => late.abort(), patienceMs);
  const fileAt = currentFile(search.query, searching);
  const lines: Entry[] = [];
  const hidden = new Set<string>();
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
  };
}

const NEVER = new AbortController().signal;

type Entry = FoundLine & { readonly key: string; readonly cut: boolean };

/** What ripgrep says of one line of a file, or (`rest: undefined`) that the file is binary. */
interface Said {
  readonly path: Buffer;
  readonly rest: Buffer | undefined;
}

/** `path NUL line : text`, where a path may have line breaks in it. */
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
  /: (?:WARNING: stopped searching binary file after match|binary file matches) \(found .{1,10} byte around offset \d+\)$/s;

/** The path in ripgrep's remark that a file is binary; `undefined` for anything else. */
function binaryPath(piece: Buffer): Buffer | undefined {
  const remark = BINARY.exec(piece.toString("latin1"));
  return remark === null ? undefined : piece.subarray(0, remark.index);
}

interface File {
  readonly key: string;
  readonly path: string;
  readonly judged: "shown" | "hidden" | "skipped";
}

/** What is to be known of a file, found out once: its lines come together. */
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

/** `line : text` of a match, with `-` for context. */
function parse(rest: Buffer, maxCharacters: number): Omit<Entry, "path" | "key"> | undefined {
  const [, number, kind, text = ""] = /^(\d+)([:-])(.*)$/s.exec(decode(rest)) ?? [];
  if (number === undefined) return undefined;
  const line = number === "1" ? text.replace(/^\ufeff/, "") : text;
  return {
    line: Number(number),
    match: kind === ":",
    ...cutLine(line.replace(/\r$/, "").replaceAll("\0", "\ufffd"), maxCharacters),
  };
}

const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const WINDOWS_1252 = new TextDecoder("windows-1252");

/** Source text is UTF-8 or, nearly always, Latin. */
function decode(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes);
  } catch {
    return WINDOWS_1252.decode(bytes);
  }
}

/** At most so many code points, "…" behind them where there are more (of which ripgrep may have given a part only). */
function cutLine(text: string, most: number): { text: string; cut: boolean } {
  const characters = Array.from(text.slice(0, 2 * most + 2));
  if (characters.length <= most) return { text, cut: false };
  return { text: `${characters.slice(0, most).join("")}…`, cut: true };
}

/** The match at which it was stopped is not shown, so neither is the context before it. */
function withoutContextBehind(lines: readonly Entry[], context: number): readonly Entry[] {
  const last = lines.findLastIndex(({ match }) => match);
  const { key, line } = lines[last] ?? { key: "", line: 0 };
  return lines.filter((other, index) => index <= last || (other.key === key && other.line <= line + context));
}
