import { Type } from "typebox";
import type { FileEntry } from "../contract/backend.ts";
import { type ToolOptions, defineTool, withToolNames } from "../contract/tool.ts";
import { formatSize } from "../output/size.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { orNearest } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { entryOf, listOf } from "./shared/output-schema.ts";
import { shownPath } from "./shared/shown-path.ts";

/** Lists a folder. */
export const ls = (options: ToolOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "ls",
      title: "List folder",
      description:
        "List a directory with sizes and modification times. Directories end with /, links show their target.",
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
      output: Type.Object({
        entries: listOf(
          entryOf({
            name: Type.String(),
            kind: Type.String({ description: "file, folder, link or other" }),
            size: Type.Number({ description: "in bytes" }),
            modified: Type.String({ description: "ISO 8601" }),
            target: Type.String({ description: "of a link" }),
          }),
        ),
      }),
      mend: (raw) => notRecursive(withoutRemarks(renameKeys(raw, FILE_SPELLINGS))),
      effects: ({ path = "." }) => [{ kind: "read", path }],
      async run({ path = ".", show_hidden = false }, context) {
        const entries = await orNearest(path, context, names, () => context.backend.files.list(path));
        return { entries: entries.filter(({ name }) => show_hidden || !name.startsWith(".")).map(asData) };
      },
      render: ({ entries }) => entries.map(line).join("\n") || "(empty directory)",
    }),
  );

/** Drops `recursive: false`, which is the only behaviour. */
function notRecursive(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("recursive" in raw) || raw.recursive !== false) return raw;
  const { recursive: _, ...rest } = raw;
  return rest;
}

/** The last time that a Date can hold (ECMAScript: 100 million days from 1970). File systems keep later ones. */
const LAST_MS = 8.64e15;

function asData({ name, kind, size, modifiedMs, target }: FileEntry) {
  const modified = new Date(Math.max(-LAST_MS, Math.min(modifiedMs, LAST_MS))).toISOString();
  return { name, kind, size, modified, ...(target !== undefined && { target }) };
}

function line({ name, kind, size, modified, target }: ReturnType<typeof asData>): string {
  const when = modified.slice(0, -8).replace("T", " "); // without seconds
  const much = kind === "file" ? formatSize(size) : kind === "folder" ? "-" : kind;
  const leads = target === undefined ? "" : ` -> ${shownPath(target)}`;
  return `${when}  ${much.padStart(8)}  ${shownPath(name)}${kind === "folder" ? "/" : ""}${leads}`;
}
