import { ToolFailure } from "../../core/contract/failure.ts";
import type { Fetched } from "../../core/contract/fetch.ts";
import { decodeBody } from "../../machine/network/charset.ts";
import { formatSize } from "../../core/output/size.ts";
import type { PdfText } from "./pdf.ts";
import { read } from "./reader.ts";
import { WALL, isWall } from "./unread.ts";

/** A response as text for a model. */
export interface ReadablePage {
  /** The title; "" if the response has none. */
  readonly title: string;
  readonly text: string;
  /** Sentences for the reader about the conversion. */
  readonly notes: readonly string[];
}

export interface PageReadOptions {
  /** Whether only the main element of HTML is kept. Default false. */
  readonly mainOnly?: boolean;
  readonly signal: AbortSignal;
}

/** Prefers Markdown, then HTML, then any type. */
export const ACCEPT_PAGE = "text/markdown, text/html;q=0.9, application/json;q=0.8, text/plain;q=0.8, */*;q=0.5";

/**
 * Converts a response to text: HTML becomes Markdown, JSON is indented, a PDF becomes its text, other text stays as it
 * is, and for anything else the type is named.
 *
 * @throws ToolFailure when the response cannot be converted within the limits; the signal's reason.
 */
export async function readPage(fetched: Fetched, { mainOnly = false, signal }: PageReadOptions): Promise<ReadablePage> {
  const { body: bytes, url } = fetched;
  const contentType = fetched.headers["content-type"] ?? "";
  const walls = isWall(fetched.headers) ? [WALL] : [];
  if (bytes.length === 0) return { title: "", text: "", notes: walls };
  switch (formOf(fetched)) {
    case "html": {
      const page = await read({ kind: "html", bytes, contentType, url, mainOnly }, { signal });
      const { title, markdown, part } = page;
      const notes = walls.length > 0 ? walls : page.notes;
      const hasNoMain = mainOnly && part === "page" && notes.length === 0;
      return { title, text: markdown, notes: hasNoMain ? ["The page has no main element: this is all of it."] : notes };
    }
    case "json":
      return { title: "", ...(await read({ kind: "json", bytes, contentType }, { signal })), notes: [] };
    case "pdf": {
      const { title, text, pages } = await readPdf(fetched, signal);
      const isPicture = text.trim() === "";
      return { title, text, notes: isPicture ? [`The PDF has ${pages} pages and no text: they are pictures.`] : [] };
    }
    case "text":
      return { title: "", text: decodeBody(bytes, contentType), notes: walls };
    case "binary":
      return { title: "", text: "", notes: [binaryNote(fetched)] };
  }
}

async function readPdf({ body: bytes, truncated, incomplete }: Fetched, signal: AbortSignal): Promise<PdfText> {
  try {
    return await read({ kind: "pdf", bytes }, { signal });
  } catch (error) {
    if ((!truncated && incomplete === undefined) || !(error instanceof ToolFailure)) throw error;
    const why = incomplete ?? `only its first ${formatSize(bytes.length)} were read`;
    throw new ToolFailure(`${error.message}: ${why}`, { hint: "Download the file with a command.", cause: error });
  }
}

/** The text of a body as it is, for tools without conversion; a note when it is not text. */
export function rawText(fetched: Fetched): string {
  const form = formOf(fetched);
  if (form === "pdf" || form === "binary") return `[${binaryNote(fetched)}]`;
  return decodeBody(fetched.body, fetched.headers["content-type"]);
}

function binaryNote({ headers, body }: Fetched): string {
  const sent = headers["content-type"]?.split(";")[0]?.trim() || "unknown type";
  const found = MAGIC.find(([bytes]) => startOf(body).startsWith(bytes))?.[1];
  const type = found === undefined || !TEXT.test(sent) ? sent : `${found}, sent as ${sent}`;
  const what = `Binary content (${type}, ${formatSize(body.length)})`;
  return `${what} is not shown. To get the file, download it with a command.`;
}

type Form = "html" | "json" | "pdf" | "text" | "binary";

/** Types of text. Servers also give them to other files, so the bytes decide whether a body is text. */
const TEXT = /^text\/|^application\/(?:xhtml\+xml|(?:.+\+)?json)$|[/+](?:xml|yaml|x-yaml|javascript|x-javascript|sql)$/;

/** How files begin, and what they are. As single bytes. */
const MAGIC: readonly (readonly [start: string, what: string])[] = [
  ["PK\x03\x04", "zip archive or Office document"],
  ["\x89PNG", "PNG picture"],
  ["\xff\xd8\xff", "JPEG picture"],
  ["GIF8", "GIF picture"],
  ["RIFF", "WebP picture or other media"],
  ["\x1f\x8b", "gzip archive"],
  ["\x28\xb5\x2f\xfd", "zstd archive"],
  ["BZh", "bzip2 archive"],
  ["\xfd7zXZ", "xz archive"],
  ["7z\xbc\xaf", "7z archive"],
  ["Rar!", "rar archive"],
  ["\x7fELF", "program"],
  ["\xd0\xcf\x11\xe0", "Office document"],
  ["SQLite format 3", "SQLite database"],
];

/** The kind of a response. Whether it is text, its first bytes decide; which text, its type. */
function formOf({ headers, body }: Fetched): Form {
  const contentType = headers["content-type"] ?? "";
  const type = contentType.split(";")[0]?.trim().toLowerCase() ?? "";
  const start = startOf(body);
  if (/^\s*%PDF-/.test(start)) return "pdf";
  if (!isText(start, TEXT.test(type), contentType)) return "binary";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  return !TEXT.test(type) && /^\s*<(!doctype html|html[\s>])/i.test(start) ? "html" : "text";
}

function startOf(body: Uint8Array): string {
  return Buffer.from(body.subarray(0, 1_024)).toString("latin1");
}

/** Whether these first bytes are text. What was sent as text may have a stray control character. */
function isText(start: string, isSentAsText: boolean, contentType: string): boolean {
  if (/^(?:\xff\xfe|\xfe\xff)/.test(start) || /charset\s*=\s*"?utf-?(?:16|32)/i.test(contentType)) return true;
  if (MAGIC.some(([bytes]) => /[^ -~]/.test(bytes) && start.startsWith(bytes))) return false;
  const controls = start.match(/[\0-\x08\x0e-\x1a]/g)?.length ?? 0;
  return controls <= (isSentAsText ? Math.max(1, start.length / 100) : 0);
}
