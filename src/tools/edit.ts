import { setImmediate as nextTurn } from "node:timers/promises";
import { Type } from "typebox";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolNames, type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import { type Edit, type Replacement, locateEdits, replaced } from "../core/files/edits.ts";
import { decodeText, encodeText, encodingLabel } from "../core/files/encoding.ts";
import { displayPath } from "../core/util/paths.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { plural } from "../core/util/text.ts";
import { FILE_SPELLINGS, requireWholeCharacters } from "./shared/file-arguments.ts";
import { changeOf } from "./shared/change.ts";
import { fileInTurn } from "./shared/in-turn.ts";
import { orNearest } from "./shared/not-found.ts";
import { EDIT_NAMES, withoutRemarks } from "./shared/other-agents.ts";
import { type TextFile, readTextFile } from "./shared/text-file.ts";

/** Larger files are written on the thread pool. In bytes. */
const LARGE = 256 * 1024;

const REPLACE_ALL = Type.Optional(
  Type.Boolean({ description: "Replace every occurrence of old_text (default: false)" }),
);

/**
 * Replaces exact text that occurs once, or with `replace_all` everywhere. All other bytes of the file stay the same.
 */
export const edit = (options: ToolOptions = {}) =>
  withToolNames((names) =>
    defineTool({
      name: "edit",
      title: "Edit file",
      description:
        "Replace exact text in a file. old_text must match character for character, whitespace included, and must " +
        "occur only once: include enough lines around it, or set replace_all. Put several changes to one file into " +
        "edits: each is matched against the current file, and all are made or none. Line endings and encoding are " +
        "kept. Returns the unified diff.",
      aliases: EDIT_NAMES,
      ...options,
      paramsHint: "path (required), old_text and new_text, or edits; replace_all",
      touches: ["read", "write"],
      input: Type.Object(
        {
          path: Type.String({
            minLength: 1,
            description: "File to edit: absolute, or relative to the working directory",
          }),
          old_text: Type.Optional(Type.String({ description: "Exact text to replace" })),
          new_text: Type.Optional(Type.String({ description: "Replacement text" })),
          replace_all: REPLACE_ALL,
          edits: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  old_text: Type.String({ description: "Exact text to replace" }),
                  new_text: Type.String({ description: "Replacement text" }),
                  replace_all: REPLACE_ALL,
                },
                { additionalProperties: false },
              ),
              { minItems: 1, maxItems: 500, description: "Several changes, instead of old_text and new_text" },
            ),
          ),
        },
        { additionalProperties: false },
      ),
      missing: ({ edits, ...one }) =>
        edits === undefined ? (["old_text", "new_text"] as const).filter((name) => one[name] === undefined) : [],
      mend: (raw) => mendEdits(withoutRemarks(renameKeys(raw, FILE_SPELLINGS))),
      effects: ({ path }) => [
        { kind: "read", path },
        { kind: "write", path, does: "edit" },
      ],
      async change({ path, ...asked }, backend) {
        const wanted = wantedEdits(asked, names);
        const exact = (before: string) => {
          const utf8 = Buffer.from(before);
          return replaced(utf8, 0, utf8.length, locateEdits(utf8, wanted, path)).toString();
        };
        return changeOf(path, backend, exact).catch(() => wanted.map(asLines).join("\n"));
      },
      async run({ path, ...asked }, context) {
        const { backend, seen, signal } = context;
        const wanted = wantedEdits(asked, names);
        return fileInTurn(backend, path, signal, async () => {
          const before = await orNearest(path, context, names, () => readTextFile(backend, path, names));
          const replacements = located(before.utf8, wanted, path);
          const bytes = await withReplacements(before, replacements, path, names);
          const { replacementsDiff } = await import("../core/files/diff.ts");
          const compared = async () => {
            if (bytes.length > LARGE) await nextTurn(); // so it is being written meanwhile
            return replacementsDiff(displayPath(before.info.path, backend), before.utf8, replacements);
          };
          const written = backend.files.write(path, bytes, { replaces: before.info.version });
          const [info, diff] = await Promise.all([written, compared()]);
          seen.wrote(info, bytes);
          return { path, edits: wanted.length, places: replacements.length, diff };
        });
      },
      render({ path, edits, places, diff }) {
        const much = places > edits ? ` (${plural(places, "place")})` : edits > 1 ? ` (${plural(edits, "edit")})` : "";
        return `Edited ${path}${much}\n\n${diff}`;
      },
    }),
  );

/** `locateEdits`, whose failure names lines that end with CR alone. */
function located(utf8: Buffer, wanted: readonly Edit[], path: string): readonly Replacement[] {
  try {
    return locateEdits(utf8, wanted, path);
  } catch (error) {
    const isMeant = wanted.some(({ old_text }) => /\n/.test(old_text));
    if (!(error instanceof ToolFailure) || !isMeant || !LONE_CR.test(utf8.toString("latin1"))) throw error;
    throw new ToolFailure(`${error.message}; lines of ${path} end with CR alone (old Mac OS), not with LF`, {
      hint: "Write \\r for these line ends in old_text and new_text, or edit one line at a time.",
      cause: error,
    });
  }
}

/** A carriage return that is no part of a line end of Windows. */
const LONE_CR = /\r(?!\n)/;

/** An edit whose place in the file is not shown. */
function asLines({ old_text, new_text }: Edit): string {
  const marked = (mark: string, text: string) => text.split("\n").map((line) => `${mark}${line}`);
  return [...marked("-", old_text), ...marked("+", new_text)].join("\n");
}

interface Asked extends Partial<Edit> {
  readonly edits?: readonly Edit[];
}

function wantedEdits({ old_text, new_text, replace_all, edits }: Asked, names: ToolNames): readonly Edit[] {
  if (edits !== undefined && (old_text !== undefined || new_text !== undefined)) {
    throw new ToolFailure("expected either edits or old_text and new_text, got both; put all changes into edits");
  }
  // Besides `edits`, the argument is the default of each edit.
  const every = replace_all === undefined ? {} : { replace_all };
  const all = (edits ?? [{ old_text: old_text ?? "", new_text: new_text ?? "" }]).map((each) => ({
    ...every,
    ...each,
  }));
  for (const { old_text: from, new_text: to } of all) {
    if (from === "") throw emptyText(names("write"));
    requireWholeCharacters("old_text", from); // half a character would be found inside a whole character
    requireWholeCharacters("new_text", to);
  }
  return all;
}

function emptyText(write: string | undefined): ToolFailure {
  return new ToolFailure("old_text is empty", {
    hint:
      "Give the text to replace. To insert text, give an existing line as old_text and repeat it in new_text." +
      (write === undefined ? "" : ` To create a file, or replace all of it, use ${write}.`),
  });
}

/** The file's bytes with the replacements made. */
async function withReplacements(
  { utf8, bytes, encoding }: TextFile,
  replacements: ReturnType<typeof locateEdits>,
  path: string,
  names: ToolNames,
): Promise<Uint8Array> {
  const text = replaced(utf8, 0, utf8.length, replacements);
  if (encoding.name === "utf-8") return text;
  // Encoding a range of the text gives its bytes, because the text was decoded losslessly.
  const lengthOf = async (from: number, to: number) =>
    (await encodeText(utf8.toString("utf8", from, to), encoding))?.length ?? 0;
  const parts: Uint8Array[] = [];
  let at = 0;
  let byte = 0;
  for (const { start, end, text: fresh } of replacements) {
    const inFile = await encodeText(fresh, encoding);
    if (inFile === undefined) {
      const convert = names("bash") === undefined ? "" : ", or convert the file with a command first";
      throw new ToolFailure(
        `new_text has characters that ${encodingLabel(encoding)}, the encoding of ${path}, does not have`,
        { hint: `Use only characters of that encoding${convert}.` },
      );
    }
    const from = byte + (await lengthOf(at, start));
    parts.push(bytes.subarray(byte, from), inFile);
    byte = from + (await lengthOf(start, end));
    at = end;
  }
  parts.push(bytes.subarray(byte));
  const changed = Buffer.concat(parts);
  // In some encodings two characters share one byte sequence, so that neither can be replaced alone.
  if ((await decodeText(changed, encoding)) !== text.toString()) {
    throw new ToolFailure(`old_text splits two characters that ${encodingLabel(encoding)} writes as one in ${path}`, {
      hint: "Add the character before or after it to old_text and new_text.",
    });
  }
  return changed;
}

function mendEdits(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || !("edits" in raw) || !Array.isArray(raw.edits)) return raw;
  return { ...raw, edits: raw.edits.map((each: unknown) => renameKeys(each, FILE_SPELLINGS)) };
}
