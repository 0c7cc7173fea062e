import type { Process, ToolBackend } from "../../contract/backend.ts";
import { byKey, pathOrderKey } from "./path-order.ts";
import { blocks, complaints } from "./ripgrep.ts";

/** A line longer than this is cut (seed 001). */
export const LINE_CHARACTERS = 500;

/** Over so many bytes a line has more than `LINE_CHARACTERS`, in any encoding. */
export const LINE_BYTES = 4 * LINE_CHARACTERS + 4;

/** One line of a result. `match: false` is a line of context. */
export type Line = { readonly path: string; readonly line: number; readonly text: string; readonly match: boolean };

/** A question to ripgrep, asked once or more. */
export interface Search {
  /** `sorted`: in the order of paths, on one thread. */
  start(sorted: boolean): Promise<Process>;
  /** A path as a model is shown it. */
  shown(path: string): string;
  /** Whether this file is looked at, if so whether its lines are left out and told of. */
  judge(path: string): "shown" | "hidden" | "not meant";
  /** What is searched, as ripgrep names it: a real path; `undefined` for stdin. */
  readonly root: string | undefined;
  /** False where there is only one file: any order is its order. */
  readonly manyFiles: boolean;
  /** How long it took to look at what is searched, in milliseconds: what any question to that place costs. */
  readonly lookMs: number;
  /** Lines shown around a match. */
  readonly context: number;
  readonly backend: ToolBackend;
}

export interface Found {
  /** In the order of paths, of lines within one. */
  readonly lines: readonly Line[];
  readonly matches: number;
  /** How many of the lines were cut. */
  readonly cut: number;
  /** "full": there are more matches than were asked for. "late": its time was up, so all of this is a part (`firstMatches` gives none such). */
  readonly ending: "all" | "full" | "late";
  /** Files with matches that were judged "hidden". */
  readonly hidden: number;
  /** Binary files with matches that are not shown, or not all of them. */
  readonly binary: number;
  /** What could not be searched, in one line; "" for nothing. */
  readonly complaints: string;
}

/**
 * The first matches in the order of paths, found as fast as that can be known: sorted, ripgrep uses one thread, but where there is
 * much to find it reaches the limit at once. So after `patience` milliseconds a faster search in no order is begun; only when that
 * one finds too many has a sorted one to tell which of them come first. Where so much patience is soon used up with starting and stopping,
 * on another system, the faster one comes first. All ways lead to the same result.
 */
export async function firstMatches(
  search: Search,
  most: number,
  patience: number,
  signal: AbortSignal,
): Promise<Found> {
  if (!search.manyFiles) return collect(search, { sorted: false, most, signal });
  if (QUESTIONS * search.lookMs < patience) {
    const soon = await collect(search, { sorted: true, most, signal, patience });
    if (soon.ending !== "late") return soon;
  }
  const found = await collect(search, { sorted: false, most, signal });
  return found.ending === "full" ? collect(search, { sorted: true, most, signal }) : found;
}

/** A search that is given up costs about so many questions. */
const QUESTIONS = 10;

/** What is found quickly has come within so many times what it takes to start a search. */
const FAR = 4;

interface Way {
  readonly sorted: boolean;
  readonly most: number;
  readonly signal: AbortSignal;
  /** Milliseconds from its start. Default: no limit. */
  readonly patience?: number;
}

/** Throws the signal's reason when that fires. */
async function collect(search: Search, { sorted, most, signal, patience }: Way): Promise<Found> {
  const asked = performance.now();
  const process = await search.start(sorted);
  // Where starting takes long, on another system, so does hearing of what is found.
  const patient = patience === undefined ? undefined : Math.max(patience, FAR * (performance.now() - asked));
  const late = new AbortController();
  const timer = patient === undefined ? undefined : setTimeout(() => late.abort(), patient);
  const fileAt = currentFile(search);
  const lines: Entry[] = [];
  const hidden = new Set<string>();
  let matches = 0;
  let binary = 0;
  let full = false;
  try {
    for await (const { path, rest } of records(process, AbortSignal.any([signal, late.signal]))) {
      const file = fileAt(path);
      if (file.judged === "not meant") continue;
      const line = rest === undefined ? undefined : parse(rest);
      if (line === undefined) {
        if (file.judged === "shown") binary++;
        continue;
      }
      if (file.judged === "hidden") {
        if (line.match) hidden.add(file.key);
        continue;
      }
      full = line.match && matches === most;
      if (full) break;
      if (line.match) matches++;
      lines.push({ ...line, path: file.shown, key: file.key });
    }
  } finally {
    clearTimeout(timer);
  }
  signal.throwIfAborted();
  const ending = full ? "full" : late.signal.aborted ? "late" : "all";
  if (ending !== "all") void process.kill();
  const said = ending === "all" ? await complaints(process, search.root, search.backend) : "";
  signal.throwIfAborted();
  const shown = full ? withoutContextBehind(lines, search.context) : sorted ? lines : lines.toSorted(byKey);
  return {
    lines: shown.map(({ path, line, text, match }) => ({ path, line, text, match })),
    matches,
    cut: shown.filter(({ cut }) => cut).length,
    ending,
    hidden: hidden.size,
    binary,
    complaints: said,
  };
}

type Entry = Line & { readonly key: string; readonly cut: boolean };

/** What ripgrep says of one line of a file, or (`rest: undefined`) that the file is binary. */
interface Said {
  readonly path: Buffer;
  readonly rest: Buffer | undefined;
}

/** `path NUL line : text`, where a path may have line breaks in it. */
async function* records(process: Process, signal: AbortSignal): AsyncIterable<Said> {
  let before: Buffer[] = [];
  for await (const block of blocks(process, LINE_BREAK, signal)) {
    for (const piece of split(block)) {
      const nul = piece.indexOf(0);
      const path = nul === -1 ? binaryPath(piece) : piece.subarray(0, nul);
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
  readonly shown: string;
  readonly judged: ReturnType<Search["judge"]>;
}

/** What is to be known of a file, found out once: its lines come together. */
function currentFile({ judge, shown }: Search): (path: Buffer) => File {
  let last: Buffer | undefined;
  let file: File = { key: "", shown: "", judged: "not meant" };
  return (path) => {
    if (last?.equals(path) === true) return file;
    const name = path.toString("utf8");
    last = path;
    file = { key: pathOrderKey(path), shown: shown(name), judged: judge(name) };
    return file;
  };
}

/** `line : text` of a match, with `-` for context. */
function parse(rest: Buffer): Omit<Entry, "path" | "key"> | undefined {
  const [, number, kind, text = ""] = /^(\d+)([:-])(.*)$/s.exec(decode(rest)) ?? [];
  if (number === undefined) return undefined;
  const line = number === "1" ? text.replace(/^\ufeff/, "") : text;
  return { line: Number(number), match: kind === ":", ...cutLine(line.replace(/\r$/, "").replaceAll("\0", "\ufffd")) };
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

/** At most `LINE_CHARACTERS` code points, "…" behind them where there are more (of which ripgrep may have given a part only). */
function cutLine(text: string): { text: string; cut: boolean } {
  const characters = Array.from(text.slice(0, 2 * LINE_CHARACTERS + 2));
  if (characters.length <= LINE_CHARACTERS) return { text, cut: false };
  return { text: `${characters.slice(0, LINE_CHARACTERS).join("")}…`, cut: true };
}

/** The match at which it was stopped is not shown, so neither is the context before it. */
function withoutContextBehind(lines: readonly Entry[], context: number): readonly Entry[] {
  const last = lines.findLastIndex(({ match }) => match);
  const { key, line } = lines[last] ?? { key: "", line: 0 };
  return lines.filter((other, index) => index <= last || (other.key === key && other.line <= line + context));
}
