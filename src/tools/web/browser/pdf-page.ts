import { messageOf } from "../../../core/util/errors.ts";
import { read } from "../reader.ts";

/** The largest PDF that is read, in bytes. */
export const LARGEST_PDF = 50_000_000;

/**
 * The text of a PDF as a page without scripts: Chromium's own viewer shows no text to a reader of its pages. Never
 * rejects: a PDF that cannot be read is a page that says why.
 */
export async function pdfPage(bytes: Uint8Array | undefined): Promise<string> {
  if (bytes === undefined)
    return page("PDF", [`<p>This PDF is larger than ${LARGEST_PDF / 1_000_000} MB. ${BY_COMMAND}`]);
  try {
    const { title, text, pages } = await read({ kind: "pdf", bytes }, { signal: new AbortController().signal });
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    const about = `<p>The text of a PDF (pages: ${pages})</p>`;
    if (lines.length === 0)
      return page(title || "PDF", [about, `<p>It has no text: its pages are pictures. ${BY_COMMAND}`]);
    return page(title || "PDF", [about, ...lines.map(asHtml)]);
  } catch (error) {
    const why = messageOf(error).replace(/^the/, "The").replace(/\.*$/, ".");
    return page("PDF", [`<p>${escaped(why)} ${BY_COMMAND}`]);
  }
}

const BY_COMMAND = "To get the file, download it with a command.";

function asHtml(line: string): string {
  const [, number] = /^--- page (\d+) ---$/.exec(line) ?? [];
  return number === undefined ? `<p>${escaped(line)}</p>` : `<h2>Page ${number}</h2>`;
}

function page(title: string, lines: readonly string[]): string {
  return `<!doctype html><title>${escaped(title)}</title>\n${lines.join("\n")}`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
