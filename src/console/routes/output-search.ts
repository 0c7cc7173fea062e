import { Type } from "typebox";
import type { OpenFile } from "../../contract/backend.ts";
import type { Toolkit } from "../../contract/toolkit.ts";
import { Problem } from "../problem.ts";
import { type Route, route } from "../route.ts";

/** Bytes searched at a time. A longer line is searched in pieces. */
const PIECE_BYTES = 1_048_576;
/** The maximum number of bytes that one request searches. */
const MAX_BYTES = 67_108_864;
const MAX_HITS = 100;
/** The number of characters shown of a line, including the match. */
const MAX_SHOWN = 400;

const HIT = Type.Object({
  offset: Type.Integer({ description: "The byte at which the line begins." }),
  text: Type.String({ description: "The line, or the part of a long one that has the match." }),
});

/** Routes that search saved outputs piece by piece, without loading them. */
export function outputSearchRoutes({ outputs, mask }: Pick<Toolkit, "outputs" | "mask">): readonly Route[] {
  return [
    route({
      ...{ method: "GET", path: "/api/outputs/{output}/search", summary: "Search a saved output for a text." },
      query: Type.Object({
        text: Type.String({ minLength: 1, maxLength: 1_000, description: "Matched without regard to case." }),
        from: Type.Optional(
          Type.Integer({ minimum: 0, description: "The byte to begin at: `next` of the page before." }),
        ),
      }),
      answer: {
        ...{ status: 200, description: `At most ${MAX_HITS} lines.` },
        schema: Type.Object({
          hits: Type.Array(HIT),
          next: Type.Optional(
            Type.Integer({ description: "The offset to continue at. Omitted at the end of the output." }),
          ),
        }),
      },
      problems: { 404: "There is no such output." },
      async handle({ path: { output = "" }, query: { text, from = 0 }, signal }) {
        const file = await outputs.open(output).catch(() => {
          throw new Problem(404, `There is no saved output ${output} here: another process has it, or it was removed.`);
        });
        try {
          return await search(file, { text: text.toLowerCase(), from, mask, signal });
        } finally {
          await file.close();
        }
      },
    }),
  ];
}

interface Search {
  /** The searched text, in lower case. */
  readonly text: string;
  readonly from: number;
  readonly mask: (text: string) => string;
  readonly signal: AbortSignal;
}

interface Hit {
  readonly offset: number;
  readonly text: string;
}

async function search(file: OpenFile, { text, from, mask, signal }: Search): Promise<{ hits: Hit[]; next?: number }> {
  const { size } = file.info;
  const hits: Hit[] = [];
  for (let at = from; at < size;) {
    if (at - from >= MAX_BYTES || signal.aborted) return { hits, next: at };
    const bytes = Buffer.from(await file.read(at, Math.min(PIECE_BYTES, size - at)));
    if (bytes.length === 0) break;
    const lastBreak = bytes.lastIndexOf(0x0a);
    const piece = at + bytes.length === size || lastBreak === -1 ? bytes : bytes.subarray(0, lastBreak + 1);
    const masked = mask(piece.toString("utf8"));
    for (const [start, line] of masked.toLowerCase().includes(text) ? linesOf(piece) : []) {
      const shown = mask(line);
      const found = shown.toLowerCase().indexOf(text);
      // A line inside a secret of several lines is missing from the masked piece.
      if (found === -1 || !masked.includes(shown)) continue;
      if (hits.length === MAX_HITS) return { hits, next: at + start };
      const begin = Math.max(0, found - MAX_SHOWN / 4);
      hits.push({ offset: at + start, text: whole(shown.slice(begin, begin + MAX_SHOWN)) });
    }
    at += piece.length;
  }
  return { hits };
}

/** Yields each line, without its line break, and the byte at which it begins. */
function* linesOf(bytes: Buffer): Generator<readonly [start: number, line: string]> {
  for (let start = 0; start < bytes.length;) {
    const found = bytes.indexOf(0x0a, start);
    const end = found === -1 ? bytes.length : found;
    yield [start, bytes.toString("utf8", start, end)];
    start = end + 1;
  }
}

/** Removes half characters at both ends. */
function whole(text: string): string {
  return text.replaceAll(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
}
