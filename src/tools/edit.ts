import { Type } from "typebox";
import type { Backend } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolOptions, defineTool } from "../contract/tool.ts";
import { decodeUtf8 } from "../output/decode.ts";
import { replacementDiff } from "../output/diff.ts";
import { formatSize } from "../output/size.ts";
import { absolutePath, displayPath } from "../util/paths.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { FILE_SPELLINGS } from "./file-arguments.ts";

/** A larger file is no text that a person or a model edits by hand; JavaScript holds at most 512 MB in a string. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Replaces one exact stretch of text that stands in the file once. Everything else stays, byte for byte. */
export const edit = (options: ToolOptions = {}) =>
  defineTool({
    name: "edit",
    title: "Edit file",
    description:
      "Replace an exact text in a file. old_text must match character for character, whitespace and line breaks included, and " +
      "must stand in the file only once: give enough lines around it. Returns the unified diff.",
    aliases: ["str_replace", "replace_in_file"],
    ...options,
    paramsHint: "path (required), old_text (required), new_text (required)",
    touches: ["read", "write"],
    input: Type.Object(
      {
        path: Type.String({ minLength: 1, description: "File to edit: absolute, or relative to the working directory" }),
        old_text: Type.String({ minLength: 1, description: "The exact text to replace" }),
        new_text: Type.String({ description: "What stands there instead" }),
      },
      { additionalProperties: false },
    ),
    mend: (raw) => renameKeys(raw, FILE_SPELLINGS),
    effects: ({ path }) => [
      { kind: "read", path },
      { kind: "write", path },
    ],
    async run({ path, old_text, new_text }, { backend }) {
      if (old_text === new_text) throw new ToolFailure("old_text and new_text are the same: there is nothing to change");
      const before = await readText(backend, path);
      const start = onlyPlace(before, old_text, path);
      const replacement = { start, end: start + old_text.length, text: new_text };
      const after = before.slice(0, start) + new_text + before.slice(replacement.end);
      const name = displayPath(absolutePath(path, backend), backend);
      const diff = replacementDiff(name, before, replacement);
      await backend.files.write(path, Buffer.from(after));
      return { path, diff };
    },
    render: ({ path, diff }) => `Edited ${path}\n\n${diff}`,
  });

async function readText(backend: Backend, path: string): Promise<string> {
  const file = await backend.files.open(path);
  try {
    if (file.info.size > MAX_BYTES) {
      throw new ToolFailure(`${path} is ${formatSize(file.info.size)}; edit takes files up to ${formatSize(MAX_BYTES)}`);
    }
    const text = decodeUtf8(await file.read(0, file.info.size));
    if (text !== undefined) return text;
    throw new ToolFailure(`Not text: ${path} (${formatSize(file.info.size)}) has bytes that are not UTF-8; it was left as it is`);
  } finally {
    await file.close();
  }
}

function onlyPlace(text: string, wanted: string, path: string): number {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) places.push(at);
  const [first] = places;
  if (first === undefined) {
    throw new ToolFailure(`old_text does not stand in ${path}`, {
      hint: "It must match exactly, whitespace and line breaks included. Read the file again and copy the text from it.",
    });
  }
  if (places.length === 1) return first;
  const numbers = places.slice(0, 10).map((at) => lineOf(text, at));
  throw new ToolFailure(
    `old_text stands ${places.length} times in ${path}: on lines ${numbers.join(", ")}${places.length > 10 ? ", …" : ""}`,
    { hint: "Add lines before or after it until it is the only one." },
  );
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let newline = text.indexOf("\n"); newline !== -1 && newline < at; newline = text.indexOf("\n", newline + 1)) line++;
  return line;
}
