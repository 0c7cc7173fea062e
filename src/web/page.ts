import type { Fetched } from "../contract/fetch.ts";
import { decodeBody } from "../network/charset.ts";
import { formatSize } from "../output/size.ts";
import { read } from "./reader.ts";

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
  switch (formOf(fetched)) {
    case "html": {
      const { title, markdown, part } = await read({ kind: "html", bytes, contentType, url, mainOnly }, { signal });
      const hasNoMain = mainOnly && part === "page";
      return { title, text: markdown, notes: hasNoMain ? ["The page has no main element: this is all of it."] : [] };
    }
    case "json":
      return { title: "", ...(await read({ kind: "json", bytes, contentType }, { signal })), notes: [] };
    case "pdf": {
      const { title, text, pages } = await read({ kind: "pdf", bytes }, { signal });
      const isPicture = text.trim() === "";
      return { title, text, notes: isPicture ? [`The PDF has ${pages} pages and no text: they are pictures.`] : [] };
    }
    case "text":
      return { title: "", text: decodeBody(bytes, contentType), notes: [] };
    case "binary":
      return { title: "", text: "", notes: [binaryNote(contentType, bytes.length)] };
  }
}

/** The text of a body as it is, for tools without conversion; a note when it is not text. */
export function rawText(fetched: Fetched): string {
  const contentType = fetched.headers["content-type"] ?? "";
  const form = formOf(fetched);
  if (form === "pdf" || form === "binary") return `[${binaryNote(contentType, fetched.body.length)}]`;
  return decodeBody(fetched.body, contentType);
}

function binaryNote(contentType: string, size: number): string {
  const type = contentType.split(";")[0]?.trim() || "unknown type";
  return `Binary content (${type}, ${formatSize(size)}) is not shown. To get the file, download it with a command.`;
}

type Form = "html" | "json" | "pdf" | "text" | "binary";

/** The kind of a response by its type. For a PDF, and without a type, the first bytes of the body decide. */
function formOf({ headers, body }: Fetched): Form {
  const type = (headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
  const start = Buffer.from(body.subarray(0, 1_024)).toString("latin1");
  if (start.startsWith("%PDF-")) return "pdf";
  if (type === "text/html" || type === "application/xhtml+xml") return "html";
  if (type === "application/json" || type.endsWith("+json")) return "json";
  if (/^text\/|[/+](?:xml|yaml|x-yaml|javascript|x-javascript|ecmascript|toml|x-sh|sql|x-ndjson|graphql)$/.test(type))
    return "text";
  const isUnsaid = type === "" || type === "application/octet-stream" || type === "application/x-www-form-urlencoded";
  if (!isUnsaid || /[\0-\x08\x0e-\x1a]/.test(start)) return "binary";
  return /^\s*<(!doctype html|html[\s>])/i.test(start) ? "html" : "text";
}
