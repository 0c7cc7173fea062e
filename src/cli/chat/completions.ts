import type { AutocompleteItem, AutocompleteProvider } from "@earendil-works/pi-tui";
import type { Backend } from "../../core/contract/backend.ts";
import { oneLine } from "../../core/output/terminal-text.ts";

/** A command as a list shows it. */
export interface ListedCommand {
  /** With the slash: "/undo". */
  readonly name: string;
  /** The command's arguments: "[list|ID]". */
  readonly takes?: string;
  readonly does: string;
  /** Whether the command can be run during a turn. */
  readonly anytime?: true;
}

/** The maximum number of paths in a list. */
const MOST_PATHS = 50;
/** How long the paths of a folder count as current, in milliseconds. */
const CURRENT_MS = 5_000;

/**
 * Completes commands at the beginning of a message, and paths after `@`.
 *
 * @param paths returns the paths of the working directory, folders with a slash at the end
 */
export function createCompletions(
  commands: () => readonly ListedCommand[],
  paths: () => Promise<readonly string[]>,
): AutocompleteProvider {
  return {
    async getSuggestions(lines, cursorLine, cursorCol, { signal }) {
      const before = (lines[cursorLine] ?? "").slice(0, cursorCol);
      if (cursorLine === 0 && COMMAND.test(before)) {
        const items = matching(commands(), before).map(({ name, takes = "", does }): AutocompleteItem => ({
          value: name,
          label: `${name} ${takes}`.trim(),
          description: does,
        }));
        return { items, prefix: before };
      }
      const prefix = PATH.exec(before)?.[1];
      if (prefix === undefined) return null;
      const all = await paths().catch(() => []);
      if (signal.aborted) return null;
      const items = bestPaths(all, prefix.replace(/^@"?/, "")).map((path) => ({
        value: /\s/.test(path) ? `@"${path}"` : `@${path}`,
        label: oneLine(path, 200),
      }));
      return { items, prefix };
    },
    // More may have been typed since the list was made.
    applyCompletion(lines, cursorLine, cursorCol, { value }) {
      const line = lines[cursorLine] ?? "";
      const before = line.slice(0, cursorCol);
      const isName = COMMAND.test(before);
      const typed = isName ? before : (PATH.exec(before)?.[1] ?? "");
      const fits = isName
        ? matching(commands(), typed).some(({ name }) => name === value)
        : typed !== "" && value.toLowerCase().includes(typed.replace(/^@"?/, "").toLowerCase());
      if (!fits) return { lines, cursorLine, cursorCol };
      const kept = before.slice(0, before.length - typed.length);
      const inserted = value.endsWith("/") ? value : `${value} `;
      const completed = kept + inserted + line.slice(cursorCol).replace(/^ /, "");
      return {
        lines: lines.map((each, index) => (index === cursorLine ? completed : each)),
        cursorLine,
        cursorCol: kept.length + inserted.length,
      };
    },
  };
}

/** What is completed, before the cursor. */
const [COMMAND, PATH] = [/^\/\S*$/, /(?:^|\s)(@(?:"[^"]*|\S*))$/];

/** Returns the commands that a list shows for what is typed: those that begin with it, then those that contain it. */
export function matching(commands: readonly ListedCommand[], typed: string): readonly ListedCommand[] {
  const word = typed.slice(1).toLowerCase();
  const begin = commands.filter(({ name }) => name.startsWith(`/${word}`));
  const contain = commands.filter((each) => !begin.includes(each) && each.name.includes(word));
  return [...begin, ...contain];
}

/** Returns a function that lists the paths of the working directory, which a `.gitignore` does not ignore. */
export function pathsOf(backend: Pick<Backend, "find" | "workDir">): () => Promise<readonly string[]> {
  let listed: Promise<readonly string[]> | undefined;
  let listedMs = 0;
  return () => {
    if (listed !== undefined && Date.now() - listedMs < CURRENT_MS) return listed;
    listedMs = Date.now();
    listed = backend.find({ path: backend.workDir }).then(({ files, folders, links }) => {
      listedMs = Date.now(); // listing may have taken longer than the list is current
      return [...folders.map((folder) => `${folder}/`), ...files, ...links].toSorted();
    });
    return listed;
  };
}

/** Returns the paths that contain what is typed. Names that begin with it are first, then short paths. */
function bestPaths(paths: readonly string[], typed: string): readonly string[] {
  const word = typed.toLowerCase();
  const ranks: string[][] = [[], [], [], []];
  for (const path of paths) {
    const lower = path.toLowerCase();
    const at = lower.indexOf(word);
    if (at === -1) continue;
    const nameAt = lower.lastIndexOf("/", lower.length - 2) + 1;
    const rank = lower.startsWith(word, nameAt) ? 0 : at === 0 ? 1 : lower.includes(word, nameAt) ? 2 : 3;
    ranks[rank]?.push(path);
  }
  const depth = (path: string) => path.split("/").length;
  const sorted = ranks.flatMap((rank) => rank.toSorted((one, other) => depth(one) - depth(other)));
  return sorted.slice(0, MOST_PATHS);
}
