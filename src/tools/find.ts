import { posix } from "node:path";
import { Type } from "typebox";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool } from "../contract/tool.ts";
import { sensitive } from "../policy/sensitive.ts";
import { absolutePath, displayPath } from "../util/paths.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { plural } from "../util/text.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { ignoreRules } from "./shared/ignore-rules.ts";
import { RIPGREP_ARGUMENTS, complaints, records } from "./shared/ripgrep.ts";

const DEFAULT_MAX_RESULTS = 200;
const MAX_RESULTS = 10_000;

/** Empty folders that are looked at; nobody asks for more. */
const MAX_EMPTY = 1_000;

/** Finds files and folders by name. */
export const find = (options: ToolOptions = {}) =>
  defineTool({
    name: "find",
    title: "Find files",
    description:
      "Find files and directories by name: a glob such as *.ts or src/**/*.test.ts, or a part of the name. Honours .gitignore, skips " +
      "hidden files unless the pattern names them. In the order of paths; directories end with /.",
    aliases: ["glob", "find_files"],
    ...options,
    paramsHint: "path, pattern, type, max_results",
    touches: ["read"],
    input: Type.Object(
      {
        path: Type.Optional(Type.String({ minLength: 1, description: "Directory to search (default: the working directory)" })),
        pattern: Type.Optional(Type.String({ maxLength: 1_000, description: "Glob, or part of a name (default: everything)" })),
        type: Type.Optional(
          Type.Union([Type.Literal("file"), Type.Literal("dir"), Type.Literal("")], { description: 'Only these (default: "", both)' }),
        ),
        max_results: Type.Optional(
          Type.Integer({ minimum: 1, maximum: MAX_RESULTS, description: `Results shown (default: ${DEFAULT_MAX_RESULTS})` }),
        ),
      },
      { additionalProperties: false },
    ),
    mend: (raw) => renameKeys(raw, { ...FILE_SPELLINGS, name: "pattern", glob: "pattern", limit: "max_results" }),
    effects: ({ path = "." }) => [{ kind: "read", path }],
    async run({ path = ".", pattern = "", type = "", max_results = DEFAULT_MAX_RESULTS }, context) {
      const { backend } = context;
      const info = await backend.files.stat(path);
      if (info === undefined) throw new ToolFailure(`File not found: ${path}`);
      if (info.kind !== "folder") throw new ToolFailure(`This is not a folder: ${path}`);
      const root = await backend.files.realPath(path);
      const matches = await matcher(pattern);
      const hidden = namesHidden(pattern);
      const [files, empty] = await Promise.all([
        listFiles(root, hidden, context),
        type === "file" ? [] : emptyFolders(root, hidden, matches, context),
      ]);
      const found = new Set<string>();
      let secret = 0;
      for (const file of files.paths) {
        if (type !== "file") for (const folder of foldersOf(file)) if (!found.has(`${folder}/`) && matches(folder)) found.add(`${folder}/`);
        if (type === "dir" || !matches(file)) continue;
        // A name is no secret, but what is named by the pattern was meant.
        if (sensitive(`/${file}`) !== undefined && pattern === "") secret++;
        else found.add(file);
      }
      for (const folder of empty) found.add(`${folder}/`);
      const sorted = [...found].sort(byCodeUnits);
      const inside = displayPath(root, backend);
      const base = absolutePath(path, backend) === backend.workDir || inside === "." ? "" : `${inside}/`;
      return {
        paths: sorted.slice(0, max_results).map((entry) => `${base}${entry}`),
        total: sorted.length,
        sensitive_files: secret,
        complaints: files.complaints,
      };
    },
    render({ paths, total, sensitive_files, complaints: problems }) {
      const notices = [
        ...(paths.length === total ? [] : [`Showing ${paths.length} of ${total}. Use a narrower path or pattern, or a larger max_results.`]),
        ...(sensitive_files === 0 ? [] : [`${plural(sensitive_files, "sensitive file")} left out; name one in the pattern to see it.`]),
        ...(problems === "" ? [] : [`Not everything could be searched: ${problems}`]),
      ];
      const body = paths.length === 0 ? "Nothing found." : paths.join("\n");
      return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
    },
  });

/** Says whether a path, relative to where the search began and without a slash at its end, is meant. */
async function matcher(pattern: string): Promise<(path: string) => boolean> {
  if (pattern === "") return () => true;
  if (!/[*?[{]/.test(pattern)) {
    const part = pattern.toLowerCase().replace(/\/$/, "");
    if (part.includes("/")) return (path) => path.toLowerCase().includes(part);
    return (path) => posix.basename(path).toLowerCase().includes(part);
  }
  const { default: picomatch } = await import("picomatch");
  const glob = pattern.replace(/^\.\//, "").replace(/\/$/, "");
  try {
    // Braces are not expanded before matching, so that {a,b}{a,b}… cannot explode.
    const matches = picomatch(glob, { dot: true, noextglob: true, maxLength: 1_000 });
    // As with .gitignore, a pattern without a slash is about the name alone.
    return glob.includes("/") ? (path) => matches(path) : (path) => matches(posix.basename(path));
  } catch (error) {
    throw new ToolFailure(`the pattern is no glob: ${pattern}`, { cause: error });
  }
}

/** Every file under the folder that is not ignored, relative to it. */
async function listFiles(root: string, hidden: boolean, { backend, signal }: ToolContext): Promise<{ paths: readonly string[]; complaints: string }> {
  const args = [...RIPGREP_ARGUMENTS, "--files", ...(hidden ? ["--hidden", "--glob=!.git/"] : [])];
  const process = await backend.helper("rg", args, { paths: [root], signal });
  const paths: string[] = [];
  const from = root === "/" ? 1 : root.length + 1;
  for await (const record of records(process, 0, signal)) paths.push(record.toString("utf8").slice(from));
  await process.exit;
  signal.throwIfAborted();
  return { paths, complaints: await complaints(process) };
}

/** Folders with nothing in them, which ripgrep does not know of: those that match and are not ignored. */
async function emptyFolders(
  root: string,
  hidden: boolean,
  matches: (path: string) => boolean,
  { backend, signal }: ToolContext,
): Promise<readonly string[]> {
  const process = await backend.helper("find", ["-mindepth", "1", "-name", ".git", "-prune", "-o", "-type", "d", "-empty", "-print0"], { paths: [root], signal });
  const candidates: string[] = [];
  const from = root === "/" ? 1 : root.length + 1;
  for await (const record of records(process, 0, signal)) {
    const path = record.toString("utf8").slice(from);
    if ((hidden || !isHidden(path)) && matches(path)) candidates.push(path);
    if (candidates.length >= MAX_EMPTY) break;
  }
  if (candidates.length === 0) return [];
  const ignored = await ignoreRules(root, backend.files);
  const kept = await Promise.all(candidates.map(async (path) => ((await ignored(path)) ? undefined : path)));
  return kept.filter((path) => path !== undefined);
}

function foldersOf(path: string): readonly string[] {
  const folders: string[] = [];
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) folders.push(path.slice(0, at));
  return folders;
}

function isHidden(path: string): boolean {
  return path.split("/").some((part) => part.startsWith("."));
}

/** "*.env" does not name a hidden file, ".env*" and ".github/**" do. */
function namesHidden(pattern: string): boolean {
  return pattern.split("/").some((part) => part.startsWith(".") && part !== "." && part !== "..");
}

function byCodeUnits(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
