import { posix } from "node:path";
import { Type } from "typebox";
import type { FileEntry } from "../core/contract/backend.ts";
import { type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import { formatSize } from "../core/output/size.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { orNearest } from "./shared/not-found.ts";
import { withoutRemarks } from "./shared/other-agents.ts";
import { entryOf, listOf } from "./shared/output-schema.ts";
import { notUtf8Notice, shownPath } from "./shared/shown-path.ts";

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
        const iso = isoTimes();
        const shown = entries.filter(({ name }) => show_hidden || !name.startsWith("."));
        return { entries: shown.map((entry) => asData(entry, iso)) };
      },
      render({ entries }, { path = "." }) {
        const notices = notUtf8Notice(
          entries.map(({ name, kind }) => posix.join(path, kind === "folder" ? `${name}/` : name)),
          names,
        );
        const body = entries.map(line).join("\n") || "(empty directory)";
        return [body, ...(notices.length === 0 ? [] : ["", ...notices.map((notice) => `[${notice}]`)])].join("\n");
      },
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

const DAY_MS = 86_400_000;

/** Returns a function that writes times as `toISOString` does, in a sixth of the time: it keeps the last date. */
function isoTimes(): (ms: number) => string {
  let [lastDay, date] = [Number.NaN, ""];
  const padded = (value: number, digits = 2) => String(Math.floor(value)).padStart(digits, "0");
  return (ms) => {
    const whole = Math.trunc(Math.max(-LAST_MS, Math.min(ms, LAST_MS)));
    const day = Math.floor(whole / DAY_MS);
    if (day !== lastDay) date = new Date(day * DAY_MS).toISOString().slice(0, -"00:00:00.000Z".length);
    lastDay = day;
    const rest = whole - day * DAY_MS;
    const clock = [rest / 3_600_000, (rest / 60_000) % 60, (rest / 1_000) % 60].map((value) => padded(value)).join(":");
    return `${date}${clock}.${padded(rest % 1_000, 3)}Z`;
  };
}

function asData({ name, kind, size, modifiedMs, target }: FileEntry, iso: (ms: number) => string) {
  const modified = iso(modifiedMs);
  return { name, kind, size, modified, ...(target !== undefined && { target }) };
}

function line({ name, kind, size, modified, target }: ReturnType<typeof asData>): string {
  const when = modified.slice(0, -8).replace("T", " "); // without seconds
  const much = kind === "file" ? formatSize(size) : kind === "folder" ? "-" : kind;
  const leads = target === undefined ? "" : ` -> ${shownPath(target)}`;
  return `${when}  ${much.padStart(8)}  ${shownPath(name)}${kind === "folder" ? "/" : ""}${leads}`;
}
