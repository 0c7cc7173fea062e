import { Type } from "typebox";
import type { Process } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool } from "../contract/tool.ts";
import { sensitive } from "../policy/sensitive.ts";
import { displayPath } from "../util/paths.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { plural } from "../util/text.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { RIPGREP_ARGUMENTS, complaints, records } from "./shared/ripgrep.ts";
import { OUTPUT_SCHEME, outputId } from "./shared/output-path.ts";

const DEFAULT_MAX_RESULTS = 100;
const MAX_RESULTS = 10_000;

/** A line longer than this is cut (seed 001). */
const LINE_CHARACTERS = 500;

/**
 * How long a search in the order of paths may take before a faster one in no order is begun. Sorted, ripgrep uses one thread; but where
 * there is much to find it reaches the limit at once.
 */
const SORTED_PATIENCE_MS = 60;

/** One line of a result. `match: false` is a line of context. */
type Line = { readonly path: string; readonly line: number; readonly text: string; readonly match: boolean };

/** Searches file contents. */
export const grep = (options: ToolOptions = {}) =>
  defineTool({
    name: "grep",
    title: "Search in files",
    description:
      "Search file contents for a regular expression. Honours .gitignore, skips hidden and binary files. Shows matching lines as " +
      "path:line: text, in the order of paths. output://ID as path searches a saved output.",
    aliases: ["search_files", "ripgrep", "rg"],
    ...options,
    paramsHint: "pattern (required), path, glob, case_sensitive, literal, context_lines, max_results",
    touches: ["read", "output"],
    input: Type.Object(
      {
        pattern: Type.String({ minLength: 1, description: "Regular expression (or text, with literal)" }),
        path: Type.Optional(Type.String({ minLength: 1, description: "File or directory to search (default: the working directory)" })),
        glob: Type.Optional(Type.String({ minLength: 1, description: 'Only files whose name or path matches, e.g. "*.ts" or "src/**"' })),
        case_sensitive: Type.Optional(Type.Boolean({ description: "Default: false" })),
        literal: Type.Optional(Type.Boolean({ description: "The pattern is plain text (default: false)" })),
        context_lines: Type.Optional(Type.Integer({ minimum: 0, maximum: 50, description: "Lines shown around each match (default: 0)" })),
        max_results: Type.Optional(
          Type.Integer({ minimum: 1, maximum: MAX_RESULTS, description: `Matches shown (default: ${DEFAULT_MAX_RESULTS})` }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: (raw) =>
      renameKeys(raw, { ...FILE_SPELLINGS, ignoreCase: "ignore_case", query: "pattern", regex: "pattern", include: "glob", limit: "max_results", context: "context_lines" }),
    effects: ({ path = "." }) => (path.startsWith(OUTPUT_SCHEME) ? [{ kind: "output", id: outputId(path) }] : [{ kind: "read", path }]),
    async run({ pattern, path = ".", glob, case_sensitive = false, literal = false, context_lines = 0, max_results = DEFAULT_MAX_RESULTS }, context) {
      const args = [
        ...RIPGREP_ARGUMENTS,
        "--with-filename",
        "--line-number",
        "--no-heading",
        // Over this many bytes ripgrep shows a beginning; the cut to characters is made here.
        `--max-columns=${4 * LINE_CHARACTERS + 4}`,
        "--max-columns-preview",
        case_sensitive ? "--case-sensitive" : "--ignore-case",
        ...(literal ? ["--fixed-strings"] : []),
        ...(context_lines > 0 ? [`--context=${context_lines}`] : []),
        ...(glob === undefined ? [] : [`--glob=${glob}`, ...(namesHidden(glob) ? ["--hidden"] : [])]),
        `--regexp=${pattern}`,
      ];
      const search = path.startsWith(OUTPUT_SCHEME) ? await searchOutput(path, args, context) : await searchFiles(path, args, context);
      const found = await firstMatches(search, max_results, context.signal);
      return {
        lines: found.lines,
        matches: found.matches,
        stopped_at: found.stopped ? max_results : null,
        sensitive_files: found.sensitive,
        complaints: found.complaints,
      };
    },
    render({ lines, matches, stopped_at, sensitive_files, complaints: problems }) {
      const cut = lines.some(({ text }) => text.endsWith(CUT));
      const notices = [
        ...(stopped_at === null ? [] : [`Stopped at ${plural(stopped_at, "match", "matches")}; there are more. Use a narrower pattern, path or glob, or a larger max_results.`]),
        ...(cut ? [`Long lines are cut to ${LINE_CHARACTERS} characters; use read to see them whole.`] : []),
        ...(sensitive_files === 0 ? [] : [`${plural(sensitive_files, "sensitive file")} with matches left out; name one as path to search it.`]),
        ...(problems === "" ? [] : [`Not everything could be searched: ${problems}`]),
      ];
      const body = matches === 0 ? "No matches found." : formatted(lines);
      return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
    },
  });

/** One run of ripgrep: `sorted` in the order of paths. */
interface Search {
  start(sorted: boolean): Promise<Process>;
  /** The path as a model is shown it. */
  shown(path: string): string;
  /** Whether lines of this file are left out. */
  hides(path: string): boolean;
  /** False where there is only one file: any order is its order. */
  readonly manyFiles: boolean;
}

async function searchFiles(path: string, args: readonly string[], { backend, signal }: ToolContext): Promise<Search> {
  const info = await backend.files.stat(path);
  if (info === undefined) throw new ToolFailure(`File not found: ${path}`);
  if (info.kind !== "file" && info.kind !== "folder") throw new ToolFailure(`This is neither a file nor a folder: ${path}`);
  return {
    start: (sorted) => backend.helper("rg", sorted ? [...args, "--sort=path"] : args, { paths: [path], signal }),
    shown: (found) => displayPath(found, backend),
    hides: (found) => info.kind === "folder" && sensitive(found) !== undefined,
    manyFiles: info.kind === "folder",
  };
}

async function searchOutput(path: string, args: readonly string[], { backend, outputs, signal }: ToolContext): Promise<Search> {
  return {
    async start() {
      const process = await backend.helper("rg", args, { paths: [], signal });
      void feed(process, path, outputs);
      return process;
    },
    shown: () => path,
    hides: () => false,
    manyFiles: false,
  };
}

async function feed(process: Process, path: string, outputs: ToolContext["outputs"]): Promise<void> {
  const file = await outputs.open(outputId(path));
  try {
    const decoder = new TextDecoder();
    for (let offset = 0; ; ) {
      const chunk = await file.read(offset, 1024 * 1024);
      if (chunk.length === 0) break;
      offset += chunk.length;
      await process.write(decoder.decode(chunk, { stream: true }));
    }
    await process.endInput();
  } catch {
    await process.kill(); // it was stopped at the limit, or the output is gone
  } finally {
    await file.close();
  }
}

interface Found {
  readonly lines: readonly Line[];
  readonly matches: number;
  readonly stopped: boolean;
  readonly sensitive: number;
  readonly complaints: string;
}

/** The first matches in the order of paths, found as fast as that can be known. */
async function firstMatches(search: Search, most: number, signal: AbortSignal): Promise<Found> {
  if (!search.manyFiles) return (await collect(search, most, signal, { sorted: false })) as Found;
  const soon = await collect(search, most, signal, { sorted: true, patience: SORTED_PATIENCE_MS });
  if (soon !== "slow") return soon;
  const all = (await collect(search, most, signal, { sorted: false })) as Found;
  // Which of too many come first only a sorted search can tell.
  return all.stopped ? ((await collect(search, most, signal, { sorted: true })) as Found) : inOrderOfPaths(all);
}

async function collect(
  search: Search,
  most: number,
  signal: AbortSignal,
  { sorted, patience = Infinity }: { sorted: boolean; patience?: number },
): Promise<Found | "slow"> {
  const process = await search.start(sorted);
  const patient = new AbortController();
  const timer = patience === Infinity ? undefined : setTimeout(() => patient.abort(), patience);
  const lines: Line[] = [];
  const hidden = new Set<string>();
  let matches = 0;
  let stopped = false;
  let unfinished = "";
  try {
    for await (const record of records(process, 10, AbortSignal.any([signal, patient.signal]))) {
      if (!record.includes(0)) {
        // "--" stands between groups; anything else is the beginning of a file name with a line break in it.
        unfinished = record.length === 2 && record.toString() === "--" ? "" : `${unfinished}${record.toString()}\n`;
        continue;
      }
      const parsed = parse(record, unfinished);
      unfinished = "";
      if (parsed === undefined) continue; // a remark of ripgrep's, such as "binary file matches"
      const { path, ...line } = parsed;
      if (search.hides(path)) {
        if (line.match) hidden.add(path);
        continue;
      }
      if (line.match && matches === most) {
        stopped = true;
        break;
      }
      if (line.match) matches++;
      lines.push({ path: search.shown(path), ...line });
    }
  } finally {
    clearTimeout(timer);
  }
  if (patient.signal.aborted && !stopped) {
    void process.kill();
    return "slow";
  }
  if (stopped) void process.kill();
  else await process.exit;
  signal.throwIfAborted();
  return { lines: stopped ? withoutContextBehind(lines) : lines, matches, stopped, sensitive: hidden.size, complaints: stopped ? "" : await complaints(process) };
}

/** `path NUL line : text` of a match, with `-` for context; `undefined` for anything else. */
function parse(record: Buffer, before: string): Line | undefined {
  const nul = record.indexOf(0);
  const rest = decode(record.subarray(nul + 1));
  const [, number, kind, text = ""] = /^(\d+)([:-])(.*)$/s.exec(rest) ?? [];
  if (number === undefined) return undefined;
  return { path: before + record.toString("utf8", 0, nul), line: Number(number), text: cutLine(text), match: kind === ":" };
}

/** Source text is UTF-8 or, nearly always, Latin. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

const CUT = "…";
const PREVIEW = / \[\.\.\. (?:omitted end of long line|\d+ more match(?:es)?)\]$/;

function cutLine(text: string): string {
  const line = text.replace(/\r$/, "");
  const shown = line.replace(PREVIEW, "");
  const characters = [...shown.slice(0, 2 * LINE_CHARACTERS)];
  if (characters.length <= LINE_CHARACTERS && shown.length === line.length) return line;
  return characters.slice(0, LINE_CHARACTERS).join("") + CUT;
}

/** Context that was read before the match behind it, which is not shown any more. */
function withoutContextBehind(lines: readonly Line[]): readonly Line[] {
  const last = lines.findLastIndex(({ match }) => match);
  const end = lines.findIndex((line, index) => index > last && line.line !== (lines[index - 1]?.line ?? 0) + 1);
  return end === -1 ? lines : lines.slice(0, end);
}

function inOrderOfPaths(found: Found): Found {
  const lines = found.lines.toSorted((one, other) => (one.path < other.path ? -1 : one.path > other.path ? 1 : 0));
  return { ...found, lines };
}

function formatted(lines: readonly Line[]): string {
  const grouped = lines.some(({ match }) => !match);
  return lines
    .flatMap(({ path, line, text, match }, index) => {
      const before = lines[index - 1];
      const apart = grouped && before !== undefined && (before.path !== path || before.line + 1 !== line);
      return [...(apart ? ["--"] : []), match ? `${path}:${line}: ${text}` : `${path}-${line}- ${text}`];
    })
    .join("\n");
}

/** "*.env" does not name a hidden file, ".env*" and ".github/**" do. */
function namesHidden(glob: string): boolean {
  return glob.split("/").some((part) => part.startsWith(".") && part !== "." && part !== "..");
}

