import { Type } from "typebox";
import type { OpenFile } from "../../contract/backend.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";

/** Limits one answer, in bytes and lines. A longer line is sent in several answers. */
const PIECE_BYTES = 65_536;
const PIECE_LINES = 500;
/** Bytes that a download reads at a time. */
const DOWNLOAD_BYTES = 1_048_576;

const OFFSET = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));
const NO_OUTPUT = { 404: "There is no such output." };

/** Routes for saved outputs, in pieces of whole lines. The whole output is never in memory. */
export function outputLineRoutes({ outputs, mask }: Pick<Toolkit, "outputs" | "mask">): readonly Route[] {
  const open = (id: string) =>
    outputs.open(id).catch(() => {
      throw new Problem(404, `There is no saved output ${id} here: another process has it, or it was removed.`);
    });
  return [
    route({
      ...{ method: "GET", path: "/api/outputs/{output}/lines", summary: "Read lines of a saved output." },
      query: Type.Object({
        from: OFFSET("The lines after this byte: `end` of another answer. Default 0."),
        before: OFFSET(
          "The lines before this byte: `start` of another answer. An offset behind the end counts as the end.",
        ),
        at: OFFSET("The lines from the line that contains this byte."),
      }),
      answer: {
        ...{ status: 200, description: `At most ${PIECE_LINES} lines and ${PIECE_BYTES} bytes.` },
        schema: Type.Object({
          lines: Type.Array(Type.String(), { description: "Without line breaks." }),
          offsets: Type.Array(Type.Integer(), { description: "The offset of the first byte of each line." }),
          start: Type.Integer(),
          end: Type.Integer({ description: "The offset behind the last line." }),
          size: Type.Integer({ description: "The size of the output, in bytes." }),
        }),
      },
      problems: NO_OUTPUT,
      async handle({ path: { output = "" }, query: { from = 0, before, at } }) {
        const file = await open(output);
        try {
          if (before !== undefined) return await linesBefore(file, before, mask);
          return await linesFrom(file, at === undefined ? from : await lineStart(file, at), mask);
        } finally {
          await file.close();
        }
      },
    }),
    route({
      ...{ method: "GET", path: "/api/outputs/{output}/download", summary: "Download all of a saved output." },
      accepts: "ticket",
      answer: { status: 200, description: "The text, as a file.", types: ["text/plain"] },
      problems: NO_OUTPUT,
      async handle({ path: { output = "" } }) {
        const file = await open(output);
        return new Response(maskedStream(file, mask), {
          headers: {
            "content-type": "text/plain; charset=utf-8",
            "content-disposition": `attachment; filename="${output.replaceAll(/[^\w-]/g, "")}.txt"`,
          },
        });
      },
    }),
  ];
}

type Mask = (text: string) => string;

async function linesFrom(file: OpenFile, from: number, mask: Mask) {
  const { size } = file.info;
  const start = Math.min(from, size);
  const bytes = await read(file, start, PIECE_BYTES);
  const isEnd = start + bytes.length >= size;
  return pieceOf({ bytes: isEnd ? bytes : wholeLines(bytes), start, size, mask });
}

async function linesBefore(file: OpenFile, before: number, mask: Mask) {
  const { size } = file.info;
  const end = Math.min(before, size);
  const start = Math.max(0, end - PIECE_BYTES);
  const bytes = await read(file, start, end - start);
  const begins = [0];
  for (let at = bytes.indexOf(0x0a); at !== -1 && at + 1 < bytes.length; at = bytes.indexOf(0x0a, at + 1)) {
    begins.push(at + 1);
  }
  if (start > 0) {
    // The piece before contains the rest of this line. If there is no other line, only half a character is removed.
    if (begins.length > 1) begins.shift();
    else while (((bytes[begins[0] ?? 0] ?? 0) & 0xc0) === 0x80) begins[0] = (begins[0] ?? 0) + 1;
  }
  const from = begins.at(-PIECE_LINES) ?? begins[0] ?? 0;
  return pieceOf({ bytes: bytes.subarray(from), start: start + from, size, mask });
}

/** Returns the byte at which the line that contains `at` begins; `at` itself in a very long line. */
async function lineStart(file: OpenFile, at: number): Promise<number> {
  const end = Math.min(at, file.info.size);
  const start = Math.max(0, end - PIECE_BYTES);
  const found = (await read(file, start, end - start)).lastIndexOf(0x0a);
  return found === -1 ? (start === 0 ? 0 : end) : start + found + 1;
}

interface Piece {
  readonly bytes: Buffer;
  readonly start: number;
  readonly size: number;
  readonly mask: Mask;
}

function pieceOf({ bytes, start, size, mask }: Piece) {
  const offsets: number[] = [];
  let end = 0;
  while (end < bytes.length && offsets.length < PIECE_LINES) {
    offsets.push(start + end);
    const found = bytes.indexOf(0x0a, end);
    end = found === -1 ? bytes.length : found + 1;
  }
  const text = mask(bytes.toString("utf8", 0, end)).replace(/\n$/, "");
  // Masking turns a secret of several lines into one line. Offsets are then known only for the lines before it.
  return { lines: end === 0 ? [] : text.split("\n"), offsets, start, end: start + end, size };
}

/** Removes the unfinished line at the end. If there is no other line, removes only half a character. */
function wholeLines(bytes: Buffer): Buffer {
  const lines = bytes.lastIndexOf(0x0a) + 1;
  if (lines > 0) return bytes.subarray(0, lines);
  let end = bytes.length;
  while (end > bytes.length - 4 && ((bytes[end - 1] ?? 0) & 0xc0) === 0x80) end -= 1;
  return ((bytes[end - 1] ?? 0) & 0xc0) === 0xc0 ? bytes.subarray(0, end - 1) : bytes;
}

async function read(file: OpenFile, start: number, length: number): Promise<Buffer> {
  return Buffer.from(await file.read(start, length));
}

/** Streams the whole file, masked line by line. Closes the file at its end, or when the client disconnects. */
function maskedStream(file: OpenFile, mask: Mask): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      const bytes = await read(file, at, DOWNLOAD_BYTES);
      const piece = at + bytes.length >= file.info.size ? bytes : wholeLines(bytes);
      at += piece.length;
      if (piece.length > 0) return controller.enqueue(encoder.encode(mask(piece.toString("utf8"))));
      await file.close();
      controller.close();
    },
    cancel: () => file.close(),
  });
}
