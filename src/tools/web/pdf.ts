import { extractText, getDocumentProxy, getMeta } from "unpdf";

export interface PdfText {
  readonly title: string;
  /** All pages, with a line "--- page 2 ---" between them. */
  readonly text: string;
  readonly pages: number;
}

/** Reads the text of a PDF. Scanned pages have none. Rejects for anything that is not a PDF. */
export async function toText(bytes: Uint8Array): Promise<PdfText> {
  const document = await getDocumentProxy(new Uint8Array(bytes));
  const { totalPages, text } = await extractText(document, { mergePages: false });
  const { info } = await getMeta(document);
  const title: unknown = info["Title"];
  return {
    title: typeof title === "string" ? title.trim() : "",
    text: text.map((page, index) => (index === 0 ? page : `--- page ${index + 1} ---\n${page}`)).join("\n\n"),
    pages: totalPages,
  };
}
