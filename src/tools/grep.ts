import { posix } from "node:path";
import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import type { SearchQuery, SearchResult } from "../core/contract/search.ts";
import {
  type ToolContext,
  type ToolNames,
  type ToolOptions,
  defineTool,
  withToolNames,
} from "../core/contract/tool.ts";
import { sensitive } from "../machine/places/keys.ts";
import { displayPath, isInside } from "../core/util/paths.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { plural } from "../core/util/text.ts";
import { closedBelow, closedNotice } from "./shared/closed-folders.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { MAX_NAME_PATTERN, fileGlob } from "./shared/name-pattern.ts";
import { ignoredNote, inIgnored } from "./shared/ignored.ts";
import { orNearest, statOf } from "./shared/not-found.ts";
import { entryOf, listOf } from "./shared/output-schema.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { OUTPUT_SCHEME, outputId } from "./shared/output-path.ts";
import { notUtf8Notice, shownPath } from "./shared/shown-path.ts";

const DEFAULT_MAX_RESULTS = 100;
const MAX_RESULTS = 10_000;

/** Longer lines are cut: one line of a minified file would fill the result. */
const LINE_CHARACTERS = 500;

/** Longer patterns take ripgrep seconds; Linux refuses arguments of 128 KiB (MAX_ARG_STRLEN in execve(2)). */
const MAX_PATTERN = 10_000;

export interface GrepOptions extends ToolOptions {
  /** Matches shown for calls without `max_results`: 1 to 10,000. Default 100. */
  readonly maxResults?: number;
}

/** Searches file contents. */
export const grep = ({ maxResults = DEFAULT_MAX_RESULTS, ...options }: GrepOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "grep",
      title: "Search in files",
      description:
        "Search file contents for a regular expression. Includes hidden files; skips .git, binary files and files " +
        "that .gitignore ignores. Shows matching lines as path:line: text, sorted by path. The path output://ID " +
        "searches a saved output.",
      aliases: ["search_files", "ripgrep", "rg", "search", "search_file_content", "grep_search"],
      ...options,
      touches: ["read", "output"],
      input: Type.Object(
        {
          pattern: Type.String({
            minLength: 1,
            maxLength: MAX_PATTERN,
            description: "Regular expression (or text, with literal)",
          }),
          path: Type.Optional(
            Type.String({ minLength: 1, description: "File or directory to search (default: the working directory)" }),
          ),
          glob: Type.Optional(
            Type.String({
              maxLength: MAX_NAME_PATTERN,
              description: 'Only files whose name or path matches, e.g. "*.ts", "src/**" or "!*.md"',
            }),
          ),
          case_sensitive: Type.Optional(Type.Boolean({ description: "Default: false" })),
          literal: Type.Optional(Type.Boolean({ description: "The pattern is plain text (default: false)" })),
          context_lines: Type.Optional(
            Type.Integer({ minimum: 0, maximum: 50, description: "Lines shown around each match (default: 0)" }),
          ),
          max_results: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: MAX_RESULTS,
              description: `Matches shown (default: ${maxResults})`,
            }),
          ),
        },
        { additionalProperties: false },
      ),
      output: Type.Object({
        matches: Type.Number(),
        stopped_at: Type.Optional(
          Type.Union([Type.Number(), Type.Null()], { description: "the number of matches after which it stopped" }),
        ),
        lines: Type.Optional(
          listOf(
            entryOf({
              path: Type.String(),
              line: Type.Number({ description: "from 1" }),
              text: Type.String(),
              match: Type.Boolean({ description: "false for a line around a match" }),
            }),
          ),
        ),
      }),
      mend: (raw) => withoutIgnoreCase(withoutRemarks(withoutForm(renameKeys(raw, SPELLINGS)))),
      effects: ({ path = "." }) =>
        path.startsWith(OUTPUT_SCHEME) ? [{ kind: "output", id: outputId(path) }] : [{ kind: "read", path }],
      async run({ path = ".", max_results: most = maxResults, ...asked }, context) {
        const question = { ...asked, most };
        const { root, ...found } = path.startsWith(OUTPUT_SCHEME)
          ? await searchOutput(path, question, context)
          : await searchFiles(path, question, context, names);
        const shown = (file: string) => (root === undefined ? path : displayPath(file, context.backend));
        return {
          matches: found.matches,
          stopped_at: found.hasMore ? most : null,
          cut_lines: found.cut,
          sensitive_files: found.hidden,
          binary_files: found.binary,
          left_out: root === undefined ? [] : await closedBelow(root, context),
          complaints: found.complaints,
          ...(found.notes.length > 0 && { notes: found.notes }),
          // The lines come last, because long data loses its end.
          lines: found.lines.map((line) => ({ ...line, path: shown(line.path) })),
        };
      },
      render(
        { lines, matches, stopped_at, cut_lines, sensitive_files, binary_files, left_out, complaints, notes = [] },
        { context_lines = 0 },
      ) {
        const read = names("read", "offset");
        const notices = [
          ...(stopped_at === null
            ? []
            : [
                `Stopped at ${plural(stopped_at, "match", "matches")}; there are more. ` +
                  "Use a narrower pattern, path or glob, or a larger max_results.",
              ]),
          ...(cut_lines === 0
            ? []
            : [
                `Long lines are cut to ${LINE_CHARACTERS} characters` +
                  `${read === undefined ? "" : `; use ${read} to see them whole`}.`,
              ]),
          ...(sensitive_files === 0
            ? []
            : [`${plural(sensitive_files, "sensitive file")} with matches left out; name one as path to search it.`]),
          ...closedNotice(left_out),
          ...(binary_files === 0 ? [] : [`${plural(binary_files, "binary file")} with matches not shown.`]),
          ...notUtf8Notice(new Set(lines.map(({ path }) => path)), names),
          ...(complaints === "" ? [] : [`Not everything could be searched: ${complaints}`]),
          ...notes,
        ];
        const body = matches === 0 ? "No matches found." : formatted(lines, context_lines > 0);
        return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
      },
    }),
  );

/** A search in files or in a saved output. */
interface Question {
  readonly pattern: string;
  readonly glob?: string;
  readonly case_sensitive?: boolean;
  readonly literal?: boolean;
  readonly context_lines?: number;
  /** The maximum number of matches shown. */
  readonly most: number;
}

/** The result, and the real path that was searched; `undefined` for a saved output. */
type Found = SearchResult & { readonly root: string | undefined };

async function searchFiles(path: string, question: Question, context: ToolContext, names: ToolNames): Promise<Found> {
  const { backend, signal } = context;
  const root = await backend.files.realPath(path);
  const glob = question.glob ?? "";
  const meant = await fileGlob(glob);
  // A glob with a slash may be relative to the searched folder or to the working directory: both count.
  const bases = isInside(root, backend.workDir) && root !== backend.workDir ? [root, backend.workDir] : [root];
  const needed = glob.startsWith("!") ? bases.length : 1;
  const isMeant = (found: string) => meant.pick(bases.map((base) => posix.relative(base, found))).length >= needed;
  // A path that names a sensitive folder opens it: the policy has asked a person about it.
  const named = sensitive(root) !== undefined;
  const isHidden = (found: string) => (!named && sensitive(found) !== undefined) || context.closed.holds(found);
  const under = root === backend.workDir || !isInside(root, backend.workDir) || glob === "" ? folderOf(glob) : "";
  const query: SearchQuery = {
    ...queryOf(question),
    path,
    git: meant.git,
    names: meant.names,
    ...(under !== "" && { under }),
    judge(found) {
      if (found === root) return context.closed.holds(found) ? "hidden" : "shown"; // a named file is searched
      return !isMeant(found) ? "skipped" : isHidden(found) ? "hidden" : "shown";
    },
    signal,
  };
  try {
    const since = performance.now();
    const found = await backend.search(query);
    // Without ripgrep, ignored files are searched anyway.
    if (found.hasMore || found.notes.length > 0) return { ...found, root };
    const searchAll = (stop: AbortSignal) =>
      backend.search({ ...query, ignored: true, maxMatches: MAX_RESULTS, signal: stop });
    const filesIn = ({ lines }: SearchResult) => new Set(lines.map((line) => line.path)).size;
    if (found.matches > 0 || found.hidden > 0) {
      const note = await ignoredNote(
        { path: root, backend, signal },
        { count: filesIn(found), since },
        searchAll,
        filesIn,
      );
      return { ...found, root, notes: note === undefined ? [] : [note] };
    }
    const ignored = await inIgnored(
      { path, backend, signal },
      (stop) => backend.search({ ...query, ignored: true, signal: stop }),
      filesIn,
    );
    if (ignored === undefined) return { ...found, root };
    return { ...(ignored.found ?? found), notes: [ignored.note], root };
  } catch (error) {
    if (error instanceof ToolFailure && !signal.aborted) await requireSearchable(path, context, names);
    throw error;
  }
}

/** @throws ToolFailure when the path does not exist, or is neither a file nor a folder. */
async function requireSearchable(path: string, context: ToolContext, names: ToolNames): Promise<void> {
  const { kind } = await orNearest(path, context, names, () => statOf(path, context));
  if (kind !== "file" && kind !== "folder") throw new ToolFailure(`This is neither a file nor a folder: ${path}`);
}

/** The folder that a glob begins with, or "". */
function folderOf(glob: string): string {
  const parts = glob
    .replace(/^(\.?\/)+/, "")
    .split("/")
    .slice(0, -1);
  const wild = parts.findIndex((part) => /[^\w .@+-]/.test(part) || part === "..");
  return (wild === -1 ? parts : parts.slice(0, wild)).join("/");
}

async function searchOutput(
  path: string,
  question: Question,
  { backend, outputs, signal }: ToolContext,
): Promise<Found> {
  const input = await outputs.open(outputId(path));
  return { ...(await backend.search({ ...queryOf(question), path, input, signal })), root: undefined };
}

function queryOf({
  pattern,
  literal = false,
  case_sensitive: caseSensitive = false,
  context_lines: contextLines = 0,
  most: maxMatches,
}: Question): Pick<
  SearchQuery,
  "pattern" | "literal" | "caseSensitive" | "contextLines" | "maxMatches" | "maxCharacters"
> {
  return { pattern, literal, caseSensitive, contextLines, maxMatches, maxCharacters: LINE_CHARACTERS };
}

function formatted(lines: SearchResult["lines"], grouped: boolean): string {
  return lines
    .flatMap(({ path, line, text, match }, index) => {
      const before = lines[index - 1];
      const apart = grouped && before !== undefined && (before.path !== path || before.line + 1 !== line);
      const name = shownPath(path);
      return [...(apart ? ["--"] : []), match ? `${name}:${line}: ${text}` : `${name}-${line}- ${text}`];
    })
    .join("\n");
}

/** Other argument names that models use. */
const SPELLINGS: { readonly [spelling: string]: string } = {
  ...FILE_SPELLINGS,
  query: "pattern",
  regex: "pattern",
  directory: "path",
  include: "glob",
  include_pattern: "glob",
  file_pattern: "glob",
  limit: "max_results",
  maxResults: "max_results",
  head_limit: "max_results",
  context: "context_lines",
  "-A": "context_lines",
  "-B": "context_lines",
  "-C": "context_lines",
  "-i": "ignore_case",
  contextLines: "context_lines",
  caseSensitive: "case_sensitive",
  ignoreCase: "ignore_case",
  case_insensitive: "ignore_case",
};

/** Drops the arguments that only choose the form of the lines, which always have path and number. */
function withoutForm(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) return raw;
  return Object.fromEntries(Object.entries(raw).filter(([key]) => key !== "output_mode" && key !== "-n"));
}

/** `ignore_case: true` is `case_sensitive: false`. */
function withoutIgnoreCase(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("ignore_case" in raw) || typeof raw.ignore_case !== "boolean")
    return raw;
  const { ignore_case, ...rest } = raw;
  return { case_sensitive: !ignore_case, ...rest };
}
