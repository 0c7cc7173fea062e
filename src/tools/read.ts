import { Type } from "typebox";
import { ToolFailure } from "../contract/failure.ts";
import { type ToolOptions, defineTool } from "../contract/tool.ts";
import { decodeUtf8 } from "../output/decode.ts";
import { readLines } from "../output/lines.ts";
import { formatSize } from "../output/size.ts";
import { DEFAULT_LIMIT, DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES, rangeNotice } from "../output/truncate.ts";
import { quoteWord } from "../util/shell.ts";
import { renameKeys } from "../util/rename-keys.ts";
import { FILE_SPELLINGS } from "./file-arguments.ts";

const OUTPUT = "output://";

/** Reads a text file, or a part of it by line numbers, or a saved output. Never loads more than it shows. */
export const read = (options: ToolOptions = {}) => {
  const { lines = DEFAULT_MAX_LINES, bytes = DEFAULT_MAX_BYTES } = options.limit ?? DEFAULT_LIMIT;
  return defineTool({
    name: "read",
    title: "Read file",
    description:
      `Read a text file. Shows up to ${lines} lines or ${formatSize(bytes)}; for more, or for a part of a large file, ` +
      `give offset (first line, from 1) and limit (number of lines). output://ID reads a saved output.`,
    aliases: ["read_text_file", "view", "cat"],
    ...options,
    paramsHint: "path (required), offset, limit",
    touches: ["read", "output"],
    input: Type.Object(
      {
        path: Type.String({ minLength: 1, description: "File to read: absolute, or relative to the working directory" }),
        offset: Type.Optional(Type.Integer({ minimum: 1, description: "First line to show, from 1 (default: 1)" })),
        limit: Type.Optional(Type.Integer({ minimum: 1, description: `Number of lines to show (default: ${lines})` })),
      },
      { additionalProperties: false },
    ),
    mend: (raw) => renameKeys(raw, FILE_SPELLINGS),
    effects: ({ path }) =>
      path.startsWith(OUTPUT) ? [{ kind: "output", id: path.slice(OUTPUT.length) }] : [{ kind: "read", path }],
    async run({ path, offset = 1, limit = lines }, { backend, outputs }) {
      const file = path.startsWith(OUTPUT) ? await outputs.open(path.slice(OUTPUT.length)) : await backend.files.open(path);
      try {
        const range = await readLines(file, { offset, maxLines: Math.min(limit, lines), maxBytes: bytes });
        const { size } = file.info;
        const text = decodeUtf8(range.bytes);
        if (text === undefined) {
          throw new ToolFailure(`Not text: ${path} (${formatSize(size)}) has bytes that are not UTF-8`, {
            hint: "Look at it with a command that knows its format.",
          });
        }
        if (range.lines === 0 && offset > 1) {
          throw new ToolFailure(`offset ${offset} is past the end: ${path} has ${range.total ?? 0} lines`);
        }
        return {
          path,
          text,
          first: offset,
          last: offset + range.lines - 1,
          total: range.total ?? null,
          size,
          at_end: range.atEnd,
          cut_in_line: range.cutInLine,
        };
      } finally {
        await file.close();
      }
    },
    render({ path, text, first, last, total, size, at_end, cut_in_line }) {
      if (text === "") return "(empty file)";
      if (cut_in_line) {
        const command = `sed -n '${first}p' ${quoteWord(path)} | head -c ${2 * bytes} | tail -c ${bytes}`;
        return `${text}\n[Line ${first} is cut at ${formatSize(bytes)}. For more of it use bash: ${command}]`;
      }
      if (at_end && first === 1) return text;
      const next = at_end ? {} : { next: last + 1 };
      const notice =
        total === null
          ? `[Showing lines ${first}-${last} of a file of ${formatSize(size)}. Use offset=${last + 1} to continue.]`
          : rangeNotice({ first, last, total, ...next });
      return `${text}${text.endsWith("\n") ? "" : "\n"}\n${notice}`;
    },
  });
};
