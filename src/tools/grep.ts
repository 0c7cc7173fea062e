import { posix } from "node:path";
import { Type } from "typebox";
import type { OpenFile, Process } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolNames, type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { sensitive } from "../policy/sensitive.ts";
import { displayPath, isInside } from "../util/paths.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { plural } from "../util/text.ts";
import { closedBelow, closedNotice } from "./shared/closed-folders.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { ignoreRules } from "./shared/ignore-rules.ts";
import { LINE_BYTES, LINE_CHARACTERS, type Line, type Search, firstMatches } from "./shared/matches.ts";
import { MAX_NAME_PATTERN, fileGlob } from "./shared/name-pattern.ts";
import { orNearest, statOf } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { OUTPUT_SCHEME, outputId } from "./shared/output-path.ts";
import { RIPGREP_ARGUMENTS, gitArguments } from "./shared/ripgrep.ts";
import { shownPath } from "./shared/shown-path.ts";

const DEFAULT_MAX_RESULTS = 100;
const MAX_RESULTS = 10_000;

/** Longer ones take ripgrep seconds; Linux takes no argument of 128 KiB at all (MAX_ARG_STRLEN in execve(2)). */
const MAX_PATTERN = 10_000;

export interface GrepOptions extends ToolOptions {
  /** Matches shown when a call does not say how many: 1 to 10,000, default 100. */
  readonly maxResults?: number;
  /** How long a search in the order of paths may take before a faster one is begun: milliseconds, default 10; with 0 the faster one comes first. What is found is the same. */
  readonly patience?: number;
}

/** Searches file contents. */
export const grep = ({ patience = 10, maxResults = DEFAULT_MAX_RESULTS, ...options }: GrepOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "grep",
      title: "Search in files",
      description:
        "Search file contents for a regular expression. Includes hidden files, but not .git, binary files, nor what " +
        ".gitignore ignores. Shows matching lines as path:line: text, sorted by path. output://ID as path searches a saved output.",
      aliases: ["search_files", "ripgrep", "rg", "search", "search_file_content", "grep_search"],
      ...options,
      paramsHint: "pattern (required), path, glob, case_sensitive, literal, context_lines, max_results",
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
      mend: (raw) => withoutIgnoreCase(withoutRemarks(withoutForm(renameKeys(raw, SPELLINGS)))),
      effects: ({ path = "." }) =>
        path.startsWith(OUTPUT_SCHEME) ? [{ kind: "output", id: outputId(path) }] : [{ kind: "read", path }],
      async run({ path = ".", max_results: most = maxResults, ...asked }, context) {
        const question = { ...asked, most };
        const search = path.startsWith(OUTPUT_SCHEME)
          ? await searchOutput(path, question, context)
          : await searchFiles(path, question, context, names);
        const found = await firstMatches(search, most, patience, context.signal);
        return {
          matches: found.matches,
          stopped_at: found.ending === "full" ? most : null,
          cut_lines: found.cut,
          sensitive_files: found.hidden,
          binary_files: found.binary,
          left_out: search.root === undefined ? [] : await closedBelow(search.root, context),
          complaints: found.complaints,
          lines: found.lines, // last: of much data the end is left out
        };
      },
      render(
        { lines, matches, stopped_at, cut_lines, sensitive_files, binary_files, left_out, complaints },
        { context_lines = 0 },
      ) {
        const read = names("read", "offset");
        const notices = [
          ...(stopped_at === null
            ? []
            : [
                `Stopped at ${plural(stopped_at, "match", "matches")}; there are more. Use a narrower pattern, path or glob, or a larger max_results.`,
              ]),
          ...(cut_lines === 0
            ? []
            : [
                `Long lines are cut to ${LINE_CHARACTERS} characters${read === undefined ? "" : `; use ${read} to see all of them`}.`,
              ]),
          ...(sensitive_files === 0
            ? []
            : [`${plural(sensitive_files, "sensitive file")} with matches left out; name one as path to search it.`]),
          ...closedNotice(left_out),
          ...(binary_files === 0 ? [] : [`${plural(binary_files, "binary file")} with matches that are not shown.`]),
          ...(complaints === "" ? [] : [`Not everything could be searched: ${complaints}`]),
        ];
        const body = matches === 0 ? "No matches found." : formatted(lines, context_lines > 0);
        return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
      },
    }),
  );

/** What is asked, wherever it is looked for. */
interface Question {
  readonly pattern: string;
  readonly glob?: string;
  readonly case_sensitive?: boolean;
  readonly literal?: boolean;
  readonly context_lines?: number;
  /** Matches that are shown. */
  readonly most: number;
}

async function searchFiles(path: string, question: Question, context: ToolContext, names: ToolNames): Promise<Search> {
  const { backend, signal } = context;
  const beganMs = performance.now();
  const info = await orNearest(path, context, names, () => statOf(path, context));
  const lookMs = performance.now() - beganMs;
  if (info.kind !== "file" && info.kind !== "folder")
    throw new ToolFailure(`This is neither a file nor a folder: ${path}`);
  const glob = info.kind === "file" ? "" : (question.glob ?? ""); // a file that is named is meant
  const meant = await fileGlob(glob);
  const root = await narrowed(info.path, glob, context);
  const args = [...searchArguments(question), ...gitArguments(meant.git), ...meant.ripgrepTest];
  // What lies in a key folder that was named is meant; a person was asked about it.
  const named = info.kind === "file" || sensitive(info.path) !== undefined;
  // A glob with a slash in it may be meant from the folder that is searched or from the working directory: either will do.
  const bases =
    isInside(info.path, backend.workDir) && info.path !== backend.workDir ? [info.path, backend.workDir] : [info.path];
  const needed = glob.startsWith("!") ? bases.length : 1;
  const isMeant = (found: string) => meant.pick(bases.map((base) => posix.relative(base, found))).length >= needed;
  const isHidden = (found: string) => (!named && sensitive(found) !== undefined) || context.closed.holds(found);
  return {
    start: (sorted) => backend.helper("rg", sorted ? [...args, "--sort=path"] : args, { paths: [root], signal }),
    shown: (found) => displayPath(found, backend),
    judge: (found) => (!isMeant(found) ? "not meant" : !isHidden(found) ? "shown" : "hidden"),
    root,
    manyFiles: info.kind === "folder",
    lookMs,
    context: question.context_lines ?? 0,
    backend,
  };
}

/** The folder that the glob begins with: nothing else need be looked at, provided that this one would be. */
async function narrowed(root: string, glob: string, context: ToolContext): Promise<string> {
  const { files, workDir } = context.backend;
  const parts = glob
    .replace(/^(\.?\/)+/, "")
    .split("/")
    .slice(0, -1);
  const wild = parts.findIndex((part) => /[^\w .@+-]/.test(part) || part === "..");
  const start = (wild === -1 ? parts : parts.slice(0, wild)).join("/");
  if (start === "" || (root !== workDir && isInside(root, workDir))) return root;
  const folder = posix.join(root, start);
  const info = await files.stat(folder).catch(() => undefined); // a link may lead where this call may not look
  const isThere = info?.kind === "folder" && info.path === folder;
  return isThere && !(await ignoreRules(root, context).ignores(start, "folder")) ? folder : root;
}

async function searchOutput(
  path: string,
  question: Question,
  { backend, outputs, signal }: ToolContext,
): Promise<Search> {
  return {
    async start() {
      const process = await backend.helper("rg", [...searchArguments(question), "--text"], { paths: [], signal });
      void feed(process, await outputs.open(outputId(path)));
      return process;
    },
    shown: () => path,
    judge: () => "shown",
    root: undefined,
    manyFiles: false,
    lookMs: 0,
    context: question.context_lines ?? 0,
    backend,
  };
}

function searchArguments({
  pattern,
  case_sensitive = false,
  literal = false,
  context_lines = 0,
  most,
}: Question): readonly string[] {
  if (/[\0\n]/.test(pattern)) {
    throw new ToolFailure("the pattern contains a line break or a NUL, but each line is searched by itself", {
      hint: "Search for one of its lines, with context_lines to see the others.",
    });
  }
  return [
    ...RIPGREP_ARGUMENTS,
    "--with-filename",
    "--line-number",
    "--no-heading",
    "--no-context-separator",
    // Over this many bytes ripgrep shows a beginning; the cut to characters is made here.
    `--max-columns=${LINE_BYTES}`,
    "--max-columns-preview",
    case_sensitive ? "--case-sensitive" : "--ignore-case",
    ...(literal ? ["--fixed-strings"] : []),
    // Lets "$" match before "\r\n" too, but then a "\r" cannot be asked for.
    ...(/\r|\\r|\\x0?d/i.test(pattern) ? [] : ["--crlf"]),
    ...(context_lines > 0 ? [`--context=${context_lines}`] : []),
    // From one file no more can count.
    `--max-count=${most + 1}`,
    `--regexp=${pattern}`,
  ];
}

async function feed(process: Process, file: OpenFile): Promise<void> {
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

function formatted(lines: readonly Line[], grouped: boolean): string {
  return lines
    .flatMap(({ path, line, text, match }, index) => {
      const before = lines[index - 1];
      const apart = grouped && before !== undefined && (before.path !== path || before.line + 1 !== line);
      const name = shownPath(path);
      return [...(apart ? ["--"] : []), match ? `${name}:${line}: ${text}` : `${name}-${line}- ${text}`];
    })
    .join("\n");
}

/** Other spellings that models use. */
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

/** Without what only says in which form the lines are shown: each has its path and number. */
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
