import { isAscii, isUtf8 } from "node:buffer";
import { Type } from "typebox";
import type { FileInfo, OpenFile } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import { type ToolContext, type ToolOptions, defineTool, withToolNames } from "../core/contract/tool.ts";
import {
  type Encoding,
  SAMPLE_BYTES,
  UTF_8,
  decodePart,
  decodeText,
  detectEncoding,
  encodingLabel,
  invalidByte,
  unitOf,
} from "../core/files/encoding.ts";
import { type ImageType, fitImage, imageType } from "../core/files/image.ts";
import { type LineIndex, type LineRange, lineIndex, readLines } from "../core/files/line-index.ts";
import { formatSize } from "../core/output/size.ts";
import {
  DEFAULT_LIMIT,
  DEFAULT_MAX_BYTES,
  DEFAULT_MAX_LINES,
  rangeNotice,
  truncateHead,
} from "../core/output/truncate.ts";
import { quoteWord } from "../core/util/quote.ts";
import { plural } from "../core/util/text.ts";
import { renameKeys } from "../core/util/rename-keys.ts";
import { FILE_SPELLINGS } from "./shared/file-arguments.ts";
import { orNearest } from "./shared/not-found.ts";
import { READ_NAMES } from "./shared/other-agents.ts";
import { withoutPictures } from "./shared/notebook.ts";
import { OUTPUT_SCHEME, outputId } from "./shared/output-path.ts";
import { notText } from "./shared/text-file.ts";

/** The largest image that is decoded. */
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;

/** Reads a text file or a range of its lines, an image, or a saved output. Loads no more than it shows. */
export const read = (options: ToolOptions = {}) => {
  const { lines = DEFAULT_MAX_LINES, bytes = DEFAULT_MAX_BYTES } = options.limit ?? DEFAULT_LIMIT;
  const indexes = indexCache();
  return withToolNames((names) =>
    defineTool({
      name: "read",
      title: "Read file",
      description:
        `Read a text file or an image. Shows up to ${lines} lines or ${formatSize(bytes)}; to read another part, ` +
        "give offset (first line, from 1) and limit (number of lines). The path output://ID reads a saved output.",
      aliases: READ_NAMES,
      ...options,
      touches: ["read", "output"],
      input: Type.Object(
        {
          path: Type.String({
            minLength: 1,
            description: "File to read: absolute, or relative to the working directory",
          }),
          offset: Type.Optional(Type.Integer({ minimum: 1, description: "First line to show, from 1 (default: 1)" })),
          limit: Type.Optional(
            Type.Integer({ minimum: 1, description: `Number of lines to show (default: ${lines})` }),
          ),
        },
        { additionalProperties: false },
      ),
      mend: (raw) => withLimit(renameKeys(raw, FILE_SPELLINGS)),
      effects: ({ path }) =>
        path.startsWith(OUTPUT_SCHEME) ? [{ kind: "output", id: outputId(path) }] : [{ kind: "read", path }],
      async run({ path, offset = 1, limit = lines }, context) {
        const saved = path.startsWith(OUTPUT_SCHEME);
        const file = saved
          ? await context.outputs.open(outputId(path))
          : await orNearest(path, context, names, () => context.backend.files.open(path));
        try {
          const sample = await file.read(0, SAMPLE_BYTES);
          const known = sample.length < SAMPLE_BYTES ? inMemory(file.info, sample) : file; // a small file is read once
          const picture = saved ? undefined : imageType(sample);
          if (picture !== undefined) return await showImage(file, picture, path, context);
          // A saved output may hold any bytes, and no other tool can open it: it is shown as bash shows output.
          const encoding = saved ? UTF_8 : await detectEncoding(sample, sample.length < SAMPLE_BYTES);
          if (encoding === undefined) throw await notText(path, sample, file.info.size, names);
          const notebook = saved ? undefined : await withoutPictures(path, known);
          const index =
            notebook === undefined
              ? indexes.of(`${saved ? "" : context.backend.name}:${path}`, file.info.version)
              : lineIndex();
          const wanted = { path, offset, limit: Math.min(limit, lines), bytes, encoding, sample, index };
          return await showText(notebook ?? known, { ...wanted, isChanged: notebook !== undefined }, context);
        } finally {
          await file.close();
        }
      },
      // The notice has its own line, so that the text before that line break is exactly the file's.
      render(data) {
        if (data.kind === "image") return imageNotice(data);
        const { text, first, last, total, size, encoding, at_end, cut_in_line } = data;
        const read_as = [
          ...(encoding.startsWith("UTF-8") ? [] : [`Decoded from ${encoding}.`]),
          ...(data.notes ?? []),
        ].map((note) => `[${note}]`);
        if (cut_in_line) return [text, ...read_as, cutNotice(data, bytes, names("bash"))].join("\n");
        if (text === "") return "(empty file)";
        if (at_end && first === 1) return [text, ...read_as].join("\n");
        const notice =
          total === null
            ? `[Showing lines ${first}-${last} of a file of ${formatSize(size)}. Use offset=${last + 1} to continue.]`
            : rangeNotice({ first, last, total, ...(at_end ? {} : { next: last + 1 }) });
        return [text, ...read_as, notice].join("\n");
      },
    }),
  );
};

/** An open file whose whole content is in memory. */
function inMemory(info: FileInfo, bytes: Uint8Array): OpenFile {
  return { info, read: async (offset, length) => bytes.subarray(offset, offset + length), close: async () => {} };
}

/** Converts the last line, which other agents' tools take, to a number of lines. */
function withLimit(raw: unknown): unknown {
  if (typeof raw !== "object" || raw === null || "limit" in raw) return raw;
  const { end_line, endLine = end_line, ...rest } = raw as { [key: string]: unknown };
  const { offset = 1 } = rest;
  if (typeof endLine !== "number" || typeof offset !== "number" || endLine < offset) return raw;
  return { ...rest, limit: endLine - offset + 1 };
}

interface Wanted {
  readonly path: string;
  readonly offset: number;
  readonly limit: number;
  readonly bytes: number;
  /** As detected from the beginning of the file. */
  readonly encoding: Encoding;
  readonly sample: Uint8Array;
  readonly index: LineIndex;
  /** Whether the file is shown otherwise than it is. */
  readonly isChanged: boolean;
}

async function showText(file: OpenFile, wanted: Wanted, context: ToolContext) {
  const { path, offset, limit, bytes, index } = wanted;
  const unit = unitOf(wanted.encoding);
  const lineBreak = {
    bytes: Uint8Array.from(wanted.encoding.name === "utf-16be" ? [0, 10] : unit === 2 ? [10, 0] : [10]),
    unit,
  };
  const range = await readLines(file, { offset, maxLines: limit, maxBytes: bytes, lineBreak, index, until: context });
  if (range.lines === 0 && offset > 1) {
    throw new ToolFailure(`offset ${offset} is past the end: ${path} has ${plural(range.total ?? 0, "line")}`);
  }
  const whole = range.atEnd && offset === 1;
  if (!path.startsWith(OUTPUT_SCHEME))
    context.seen.remember(file.info, whole && !wanted.isChanged ? range.bytes : undefined);
  const encoding = await encodingOf(range, wanted);
  const decoded = (await (range.cutInLine ? decodePart : decodeText)(range.bytes, encoding)).replaceAll("\0", "\ufffd");
  const mark = offset === 1 && decoded.startsWith("\ufeff") ? 1 : 0;
  const notes = path.startsWith(OUTPUT_SCHEME) ? [] : await oddities(range, encoding, offset);
  // As UTF-8, and with secrets masked, the text may be longer than it is in the file.
  const shown = truncateHead(decoded.slice(mark), { bytes }, context.mask);
  const lines = shown.truncated === false ? range.lines : shown.shownLines;
  return {
    kind: "text" as const,
    path,
    text: shown.text,
    first: offset,
    last: offset + lines - 1,
    total: range.total ?? null,
    size: file.info.size,
    encoding: encodingLabel(encoding),
    at_end: range.atEnd && shown.truncated === false,
    cut_in_line: range.cutInLine || shown.insideLine,
    ...(notes.length > 0 && { notes }),
  };
}

/** What an edit of the shown lines would refuse or miss: a byte that is invalid in UTF-8, lines that end with CR alone. */
async function oddities(
  { bytes, cutInLine }: LineRange,
  encoding: Encoding,
  first: number,
): Promise<readonly string[]> {
  const isOdd = encoding.name === "utf-8" && !cutInLine && !isUtf8(bytes);
  const invalid = isOdd ? await invalidByte(bytes, encoding) : undefined;
  const hasLines = bytes.includes(13) && !bytes.includes(10);
  return [
    ...(invalid === undefined
      ? []
      : [
          `Line ${first + invalid.line - 1} has the byte 0x${invalid.byte.toString(16)}, which is invalid in UTF-8 and ` +
            "shown as \ufffd. The file cannot be edited before it is repaired.",
        ]),
    ...(hasLines && encoding.name === "utf-8" && bytes.subarray(0, -1).includes(13)
      ? ["Lines end with CR alone (old Mac OS) and count as one line. In an edit write \\r for them."]
      : []),
  ];
}

/** The encoding of the shown part. An ASCII beginning fits most encodings, so the shown part decides then. */
async function encodingOf({ bytes, cutInLine }: LineRange, { path, encoding, sample }: Wanted): Promise<Encoding> {
  if (path.startsWith(OUTPUT_SCHEME) || !isAscii(sample) || isUtf8(bytes)) return encoding;
  return (await detectEncoding(bytes, !cutInLine)) ?? encoding;
}

async function showImage(file: OpenFile, type: ImageType, path: string, { attach, seen }: ToolContext) {
  const { size } = file.info;
  if (size > MAX_IMAGE_BYTES) {
    throw new ToolFailure(
      `${path} is an image of ${formatSize(size)}; the largest that can be shown is ${formatSize(MAX_IMAGE_BYTES)}`,
    );
  }
  const image = await fitImage(await file.read(0, size), type, path);
  seen.remember(file.info);
  attach({ type: "image", data: Buffer.from(image.bytes).toString("base64"), mimeType: image.type });
  const { width, height, original = { type, width, height } } = image;
  return {
    kind: "image" as const,
    path,
    type: original.type,
    size,
    width: original.width,
    height: original.height,
    shown: { type: image.type, width, height },
  };
}

function imageNotice({ path, type, size, width, height, shown }: Awaited<ReturnType<typeof showImage>>): string {
  const scaled = shown.width !== width || shown.height !== height;
  const changed = shown.type === type ? "" : ` as ${shown.type}`;
  const how = scaled
    ? `, shown scaled to ${shown.width}x${shown.height}${changed}`
    : changed === ""
      ? ""
      : `, shown${changed}`;
  return `[Image: ${path}, ${type}, ${width}x${height}, ${formatSize(size)}${how}]`;
}

/** The notice below a line of which only the beginning fits. */
function cutNotice(
  { path, text, first, total, encoding }: Awaited<ReturnType<typeof showText>>,
  bytes: number,
  bash: string | undefined,
): string {
  const where = `Line ${first}${total === null ? "" : ` of ${total}`} is cut at ${formatSize(bytes)}.`;
  const next = first === total ? "" : ` Use offset=${first + 1} for the next line.`;
  if (path.startsWith(OUTPUT_SCHEME))
    return `[${where}${next} To see more of this line run its command again and cut the output.]`;
  // In another encoding a command would count and show other bytes.
  if (bash === undefined || !encoding.startsWith("UTF-8")) return `[${where}${next}]`;
  const mark = first === 1 && encoding !== encodingLabel(UTF_8) ? 3 : 0;
  const from = mark + Buffer.byteLength(text) + 1;
  const command = `sed -n '${first}{p;q;}' -- ${quotePath(path)} | tail -c +${from} | head -c ${bytes}`;
  return `[${where}${next} To see more of this line use ${bash}: ${command}]`;
}

/** Quotes a path for a shell, except for a leading `~/`, which a shell expands only unquoted. */
function quotePath(path: string): string {
  return path.startsWith("~/") ? `~/${quoteWord(path.slice(2))}` : quoteWord(path);
}

/** Remembers where lines begin in recently read files, so that a second read deep in a large file is fast. */
function indexCache(most = 64): { of(file: string, version: string): LineIndex } {
  const known = new Map<string, { readonly version: string; readonly index: LineIndex }>();
  return {
    of(file, version) {
      const entry = known.get(file);
      known.delete(file);
      const kept = entry?.version === version ? entry : { version, index: lineIndex() };
      known.set(file, kept);
      for (const oldest of known.keys()) if (known.size > most) known.delete(oldest);
      return kept.index;
    },
  };
}
