import { posix } from "node:path";
import { Type } from "typebox";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { sensitive } from "../policy/sensitive.ts";
import { displayPath, isInside } from "../util/paths.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { plural } from "../util/text.ts";
import { closedBelow, closedNotice } from "./shared/closed-folders.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { type FoldersAndLinks, foldersAndLinks } from "./shared/folders.ts";
import { MAX_NAME_PATTERN, type NamePattern, nameOf, namePattern } from "./shared/name-pattern.ts";
import { orNearest, statOf } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { pathOfKey, pathOrderKey } from "./shared/path-order.ts";
import { RIPGREP_ARGUMENTS, blocks, complaints, gitArguments } from "./shared/ripgrep.ts";
import { shownPath } from "./shared/shown-path.ts";

const DEFAULT_MAX_RESULTS = 200;
const MAX_RESULTS = 10_000;

/** So many paths are compared with the pattern at a time. */
const BATCH = 20_000;

export interface FindOptions extends ToolOptions {
  /** Results shown when a call does not say how many: 1 to 10,000, default 200. */
  readonly maxResults?: number;
}

/** Finds files and folders by name. */
export const find = ({ maxResults = DEFAULT_MAX_RESULTS, ...options }: FindOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "find",
      title: "Find files",
      description:
        "Find files and directories by name: a glob such as *.ts or src/**/*.test.ts, or a part of the name. Includes hidden files, " +
        "but not .git, nor what .gitignore ignores. Sorted by path; directories end with /.",
      aliases: ["glob", "find_files", "file_search", "find_path"],
      ...options,
      paramsHint: "path, pattern, type, max_results",
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
              description: 'Only these (default: "", both)',
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
      mend: (raw) => withoutRemarks(renameKeys(raw, SPELLINGS)),
      effects: ({ path = "." }) => [{ kind: "read", path }],
      async run({ path = ".", pattern = "", type = "", max_results = maxResults }, context) {
        const info = await orNearest(path, context, names, () => statOf(path, context));
        if (info.kind !== "folder") throw new ToolFailure(`This is not a folder: ${path}`);
        const root = info.path;
        const meant = await namePattern(pattern.startsWith(`${root}/`) ? pattern.slice(root.length + 1) : pattern);
        const [listed, other] = await Promise.all([
          type === "dir" || meant.foldersOnly ? NO_FILES : listFiles(root, meant, context),
          type === "file" ? NO_FOLDERS : foldersAndLinks(root, meant, context),
        ]);
        // A name is no secret, but only a pattern that spells a part of it means it: "*" and "**/*" do not.
        const isMeant = (name: string) => /[^\W_]/.test(nameOf(pattern)) || sensitive(`/${name}`) === undefined;
        const files = listed.files.filter(isMeant);
        const found = [
          ...files,
          ...other.folders.filter(isMeant).map((folder) => `${folder}/`),
          // What a link leads to may be anything, or anywhere.
          ...(type === "" && !meant.foldersOnly ? other.links : []),
        ];
        const { paths: closed } = context.closed;
        const open = found.filter((name) => !closed.some((folder) => isInside(posix.join(root, name), folder)));
        const sorted = open.map(pathOrderKey).sort();
        const base = baseOf(displayPath(root, context.backend));
        return {
          total: open.length,
          sensitive_files: listed.files.length - files.length,
          left_out: await closedBelow(root, context),
          complaints: listed.complaints || other.complaints,
          paths: sorted.slice(0, max_results).map((key) => base + pathOfKey(key)), // last: of much data the end is left out
        };
      },
      render({ paths, total, sensitive_files, left_out, complaints: problems }) {
        const notices = [
          ...(paths.length === total
            ? []
            : [`Showing ${paths.length} of ${total}. Use a narrower path or pattern, or a larger max_results.`]),
          ...(sensitive_files === 0
            ? []
            : [`${plural(sensitive_files, "sensitive file")} left out; name one in the pattern to see it.`]),
          ...closedNotice(left_out),
          ...(problems === "" ? [] : [`Not everything could be searched: ${problems}`]),
        ];
        const body = paths.length === 0 ? "Nothing found." : paths.map(shownPath).join("\n");
        return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
      },
    }),
  );

interface Listed {
  readonly files: readonly string[];
  /** What could not be searched; "" for nothing. */
  readonly complaints: string;
}

const NO_FILES: Listed = { files: [], complaints: "" };
const NO_FOLDERS: FoldersAndLinks = { folders: [], links: [], complaints: "" };

/** The files under the folder that the pattern means and that are not ignored, relative to it. */
async function listFiles(
  root: string,
  { pick, git, ripgrepTest }: NamePattern,
  { backend, signal }: ToolContext,
): Promise<Listed> {
  const args = [...RIPGREP_ARGUMENTS, "--files", ...gitArguments(git), ...ripgrepTest];
  const process = await backend.helper("rg", args, { paths: [root], signal });
  const from = root === "/" ? 1 : root.length + 1;
  const files: string[] = [];
  let waiting: string[] = [];
  const judge = () => {
    for (const path of pick(waiting)) files.push(path);
    waiting = [];
  };
  for await (const block of blocks(process, 0, signal)) {
    for (const path of block.toString("utf8").split("\0")) waiting.push(path.slice(from));
    if (waiting.length >= BATCH) judge();
  }
  judge();
  signal.throwIfAborted();
  return { files, complaints: await complaints(process, root, backend) };
}

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
