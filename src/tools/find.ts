import { posix } from "node:path";
import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import type { FindResult, FoundKind } from "../core/contract/search.ts";
import { type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import { sensitive } from "../machine/places/keys.ts";
import { pathOfKey, pathOrderKey } from "../core/util/path-order.ts";
import { displayPath, isInside } from "../core/util/paths.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { plural } from "../core/util/text.ts";
import { closedBelow, closedNotice } from "./shared/closed-folders.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { MAX_NAME_PATTERN, nameOf, namePattern } from "./shared/name-pattern.ts";
import { ignoredNote, inIgnored } from "./shared/ignored.ts";
import { orNearest, statOf } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { notUtf8Notice, shownPath } from "./shared/shown-path.ts";

const DEFAULT_MAX_RESULTS = 200;
const MAX_RESULTS = 10_000;

export interface FindOptions extends ToolOptions {
  /** Results shown for calls without `max_results`: 1 to 10,000. Default 200. */
  readonly maxResults?: number;
}

/** Finds files and folders by name. */
export const find = ({ maxResults = DEFAULT_MAX_RESULTS, ...options }: FindOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "find",
      title: "Find files",
      description:
        "Find files and directories by name: a glob such as *.ts or src/**/*.test.ts, or part of a name. Includes " +
        "hidden files; skips .git and files that .gitignore ignores. Sorted by path; directories end with /.",
      aliases: ["glob", "find_files", "file_search", "find_path"],
      ...options,
      touches: ["read"],
      input: Type.Object(
        {
          path: Type.Optional(
            Type.String({ minLength: 1, description: "Directory to search (default: the working directory)" }),
          ),
          pattern: Type.Optional(
            Type.String({ maxLength: MAX_NAME_PATTERN, description: "Glob, or part of a name (default: everything)" }),
          ),
          type: Type.Optional(
            Type.Union([Type.Literal("file"), Type.Literal("dir"), Type.Literal("")], {
              description: 'Only files or only directories (default: "", both)',
            }),
          ),
          max_results: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: MAX_RESULTS,
              description: `Results shown (default: ${maxResults})`,
            }),
          ),
        },
        { additionalProperties: false },
      ),
      output: Type.Object({
        total: Type.Number({ description: "how many were found" }),
        sensitive_files: Type.Optional(Type.Number({ description: "how many were found and are not listed" })),
        paths: Type.Optional(Type.Array(Type.String())),
      }),
      mend: (raw) => withoutRemarks(renameKeys(raw, SPELLINGS)),
      effects: ({ path = "." }) => [{ kind: "read", path }],
      async run({ path = ".", pattern = "", type = "", max_results = maxResults }, context) {
        const { backend, signal } = context;
        const root = await backend.files.realPath(path);
        const meant = await namePattern(pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern);
        const kinds = KINDS[type].filter((kind) => kind === "folder" || !meant.foldersOnly);
        const { git, names: only, pick } = meant;
        const query = { path, kinds, git, names: only, pick, signal };
        const countOf = ({ files, folders, links }: FindResult) => files.length + folders.length + links.length;
        const since = performance.now();
        const listed = await backend
          .find(query)
          .then(async (first) => {
            const findAll = (stop: AbortSignal) => backend.find({ ...query, ignored: true, signal: stop });
            const count = countOf(first);
            if (count > 0) {
              const note = await ignoredNote({ path: root, backend, signal }, { count, since }, findAll, countOf);
              return { ...first, notes: [...first.notes, ...(note === undefined ? [] : [note])] };
            }
            const ignored = await inIgnored({ path, backend, signal }, findAll, countOf);
            return ignored === undefined ? first : { ...(ignored.found ?? first), notes: [ignored.note] };
          })
          .catch(async (error: unknown) => {
            if (!(error instanceof ToolFailure) || signal.aborted) throw error;
            const { kind } = await orNearest(path, context, names, () => statOf(path, context));
            throw kind === "folder" ? error : new ToolFailure(`This is not a folder: ${path}`);
          });
        // Sensitive files are found only by a pattern that spells part of their name, not by "*" or "**".
        const isMeant = (name: string) => /[^\W_]/.test(nameOf(pattern)) || sensitive(`/${name}`) === undefined;
        const files = listed.files.filter(isMeant);
        const found = [
          ...files,
          ...listed.folders.filter(isMeant).map((folder) => `${folder}/`),
          ...listed.links, // links, whose targets are unknown, so they have no slash
        ];
        const { paths: closed } = context.closed;
        const open = found.filter((name) => !closed.some((folder) => isInside(posix.join(root, name), folder)));
        const sorted = open.map(pathOrderKey).sort();
        const base = baseOf(displayPath(root, context.backend));
        return {
          total: open.length,
          sensitive_files: listed.files.length - files.length,
          left_out: await closedBelow(root, context),
          complaints: listed.complaints,
          ...(listed.notes.length > 0 && { notes: listed.notes }),
          // The paths come last, because long data loses its end.
          paths: sorted.slice(0, max_results).map((key) => base + pathOfKey(key)),
        };
      },
      render({ paths, total, sensitive_files, left_out, complaints: problems, notes = [] }) {
        const notices = [
          ...(paths.length === total
            ? []
            : [`Showing ${paths.length} of ${total}. Use a narrower path or pattern, or a larger max_results.`]),
          ...(sensitive_files === 0
            ? []
            : [`${plural(sensitive_files, "sensitive file")} left out; name one in the pattern to see it.`]),
          ...closedNotice(left_out),
          ...notUtf8Notice(paths, names),
          ...(problems === "" ? [] : [`Not everything could be searched: ${problems}`]),
          ...notes,
        ];
        const body = paths.length === 0 ? "Nothing found." : paths.map(shownPath).join("\n");
        return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
      },
    }),
  );

const KINDS: { readonly [type in "file" | "dir" | ""]: readonly FoundKind[] } = {
  file: ["file"],
  dir: ["folder"],
  "": ["file", "folder", "link"],
};

function baseOf(shown: string): string {
  if (shown === ".") return "";
  return shown === "/" ? "/" : `${shown}/`;
}

const SPELLINGS: { readonly [spelling: string]: string } = {
  ...FILE_SPELLINGS,
  name: "pattern",
  glob: "pattern",
  query: "pattern",
  directory: "path",
  limit: "max_results",
  maxResults: "max_results",
};
