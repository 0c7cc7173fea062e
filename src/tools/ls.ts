import { Type } from "typebox";
import type { FileEntry } from "../contract/backend.ts";
import { type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { formatSize } from "../output/size.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { orNearest } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";

/** Lists a folder. */
export const ls = (options: ToolOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "ls",
      title: "List folder",
      description: "List a directory with sizes and modification times. Folders end with /, links show their target.",
      aliases: ["list_directory", "list_dir", "list_files", "list"],
      ...options,
      touches: ["read"],
      input: Type.Object(
        {
          path: Type.Optional(
            Type.String({ minLength: 1, description: "Directory to list (default: the working directory)" }),
          ),
          show_hidden: Type.Optional(
            Type.Boolean({ description: "Include names that begin with a dot (default: false)" }),
          ),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => notRecursive(withoutRemarks(renameKeys(raw, FILE_SPELLINGS))),
      effects: ({ path = "." }) => [{ kind: "read", path }],
      async run({ path = ".", show_hidden = false }, context) {
        const entries = await orNearest(path, context, names, () => context.backend.files.list(path));
        return entries.filter(({ name }) => show_hidden || !name.startsWith(".")).map(asData);
      },
      render: (entries) => entries.map(line).join("\n") || "(empty directory)",
    }),
  );

/** `recursive: false` is what it does anyway. */
function notRecursive(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("recursive" in raw) || raw.recursive !== false) return raw;
  const { recursive: _, ...rest } = raw;
  return rest;
}

/** Dates end there (ECMAScript: 100 million days from 1970); file systems keep later times. */
const LAST_MS = 8.64e15;

function asData({ name, kind, size, modifiedMs, target }: FileEntry) {
  const modified = new Date(Math.max(-LAST_MS, Math.min(modifiedMs, LAST_MS))).toISOString();
  return { name, kind, size, modified, ...(target !== undefined && { target }) };
}

function line({ name, kind, size, modified, target }: ReturnType<typeof asData>): string {
  const when = modified.slice(0, -8).replace("T", " "); // without seconds
  const much = kind === "file" ? formatSize(size) : kind === "folder" ? "-" : kind;
  const leads = target === undefined ? "" : ` -> ${shownName(target)}`;
  return `${when}  ${much.padStart(8)}  ${shownName(name)}${kind === "folder" ? "/" : ""}${leads}`;
}

/** A name with a line break in it would look like two. */
function shownName(name: string): string {
  return /[\x00-\x1f\x7f]/.test(name) ? JSON.stringify(name) : name;
}
