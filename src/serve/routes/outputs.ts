import { Type } from "typebox";
import type { OpenFile } from "../../core/contract/backend.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { imageType } from "../../core/files/image.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";

/** The number of bytes that are read at a time. A longer line is searched in pieces. */
const PIECE_BYTES = 1_048_576;
/** The maximum number of bytes that one request searches. */
const MAX_BYTES = 67_108_864;
const MAX_HITS = 100;
/** The number of characters shown of a line, including the match. */
const MAX_SHOWN = 400;
/** The maximum size of a served image, in bytes. No tool returns a larger one. */
const MAX_IMAGE = 8_388_608;

const NO_OUTPUT = { 404: "There is no such output." };

/**
 * Routes for saved outputs and the outputs of jobs. No output is in memory as a whole. Secrets are replaced by as
 * many bytes, so that offsets are those of the output.
 */
export function outputRoutes({ outputs }: Pick<Toolkit, "outputs">): readonly Route[] {
  const gone = (id: string) =>
    new Problem(404, `There is no saved output ${id} here: another process has it, or it was removed.`);
  const open = (id: string, way = outputs.openMasked) =>
    way(id).catch(() => {
      throw gone(id);
    });
  return [
    route("GET /api/outputs/{output}", {
      summary: "A saved output as text, or the range of bytes that `Range` names.",
      answer: { status: 200, description: "The text. 206 for a range.", types: ["text/plain"] },
      problems: { ...NO_OUTPUT, 416: "There are no such bytes." },
      handle: async ({ path: { output = "" }, headers }) => bytesOf(await open(output), headers.get("range")),
    }),
    route("GET /api/outputs/{output}/download", {
      summary: "Download all of a saved output.",
      accepts: "ticket",
      answer: { status: 200, description: "The text, as a file.", types: ["text/plain"] },
      problems: NO_OUTPUT,
      async handle({ path: { output = "" } }) {
        const answer = await bytesOf(await open(output), null);
        const name = `${output.replaceAll(/[^\w-]/g, "")}.txt`;
        answer.headers.set("content-disposition", `attachment; filename="${name}"`);
        return answer;
      },
    }),
    route("GET /api/outputs/{output}/image", {
      summary: "A saved output that is an image.",
      answer: {
        ...{ status: 200, description: "The image." },
        types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
      },
      problems: { 404: "There is no such output, or it is no image." },
      async handle({ path: { output = "" } }) {
        const file = await open(output, outputs.open);
        try {
          // The media type is derived from the bytes, not taken from the tool.
          const type = imageType(await file.read(0, 16));
          if (type === undefined || file.info.size > MAX_IMAGE) throw gone(output);
          const bytes = new Uint8Array(await file.read(0, file.info.size));
          return new Response(bytes, { headers: { "content-type": type, "cache-control": "private, max-age=86400" } });
        } finally {
          await file.close();
        }
      },
    }),
    route("GET /api/outputs/{output}/search", {
      summary: "Search a saved output for a text.",
      query: Type.Object({
        text: Type.String({ minLength: 1, maxLength: 1_000, description: "Matched without regard to case." }),
        from: Type.Optional(
          Type.Integer({ minimum: 0, description: "The byte to begin at: `next` of the page before." }),
        ),
      }),
      answer: {
        ...{ status: 200, description: `At most ${MAX_HITS} lines.` },
        schema: Type.Object({
          hits: Type.Array(
            Type.Object({
              offset: Type.Integer({ description: "The byte at which the line begins." }),
              text: Type.String({ description: "The line, or the part of a long one that has the match." }),
            }),
          ),
          next: Type.Optional(
            Type.Integer({ description: "The offset to continue at. Omitted at the end of the output." }),
          ),
        }),
      },
      problems: NO_OUTPUT,
      async handle({ path: { output = "" }, query: { text, from = 0 }, signal }) {
        const file = await open(output);
        try {
          return await search(file, { wanted: text.toLowerCase(), from, signal });
        } finally {
          await file.close();
        }
      },
    }),
  ];
}

/** Answers with the bytes that `Range: bytes=…` names (RFC 9110, section 14), or with all. Closes the file. */
async function bytesOf(file: OpenFile, header: string | null): Promise<Response> {
  const { size } = file.info;
  const [, from = "", to = ""] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? "bytes=0-") ?? [];
  const start = from === "" ? Math.max(0, size - Number(to)) : Number(from);
  const end = from === "" || to === "" ? size : Math.min(size, Number(to) + 1);
  if ((from === "" && to === "") || (start >= end && size > 0)) {
    await file.close();
    throw new Problem(416, `Expected one range of bytes of ${size}, got ${header}.`);
  }
  const isPart = header !== null && size > 0;
  let at = start;
  const body = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const bytes = await file.read(at, Math.min(PIECE_BYTES, end - at));
      at += bytes.length;
      if (bytes.length > 0) return controller.enqueue(new Uint8Array(bytes));
      await file.close();
      controller.close();
    },
    cancel: () => file.close(),
  });
  return new Response(body, {
    status: isPart ? 206 : 200,
    headers: {
      "content-type": "text/plain; charset=utf-8",
      "accept-ranges": "bytes",
      ...(isPart && { "content-range": `bytes ${start}-${end - 1}/${size}` }),
    },
  });
}

interface Search {
  /** The searched text, in lower case. */
  readonly wanted: string;
  readonly from: number;
  readonly signal: AbortSignal;
}

async function search(file: OpenFile, { wanted, from, signal }: Search) {
  const { size } = file.info;
  const hits: { readonly offset: number; readonly text: string }[] = [];
  for (let at = from; at < size;) {
    if (at - from >= MAX_BYTES || signal.aborted) return { hits, next: at };
    const bytes = Buffer.from(await file.read(at, PIECE_BYTES));
    if (bytes.length === 0) break;
    const whole = at + bytes.length >= size ? 0 : bytes.lastIndexOf(0x0a) + 1;
    const piece = whole === 0 ? bytes : bytes.subarray(0, whole);
    let start = piece.toString().toLowerCase().includes(wanted) ? 0 : piece.length;
    while (start < piece.length) {
      const found = piece.indexOf(0x0a, start);
      const line = piece.toString("utf8", start, found === -1 ? piece.length : found);
      const match = line.toLowerCase().indexOf(wanted);
      if (match !== -1 && hits.length === MAX_HITS) return { hits, next: at + start };
      const begin = Math.max(0, match - MAX_SHOWN / 4);
      // Without half characters at both ends.
      const text = line.slice(begin, begin + MAX_SHOWN).replaceAll(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
      if (match !== -1) hits.push({ offset: at + start, text });
      start = found === -1 ? piece.length : found + 1;
    }
    at += piece.length;
  }
  return { hits };
}
