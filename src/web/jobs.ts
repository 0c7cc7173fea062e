import type { Page, PageOptions } from "./markdown.ts";
import type { ResultPage } from "./duckduckgo.ts";
import type { PdfText } from "./pdf.ts";

/** What the worker reads. */
export type Job =
  | ({ readonly kind: "html"; readonly bytes: Uint8Array; readonly contentType: string } & PageOptions)
  /** Indented text of JSON; text that is none stays as it is. */
  | { readonly kind: "json"; readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly kind: "results"; readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly kind: "pdf"; readonly bytes: Uint8Array };

/** What comes of a job, by its kind. */
export interface ReadingOf {
  readonly html: Page;
  readonly json: { readonly text: string };
  readonly results: ResultPage;
  readonly pdf: PdfText;
}

export type Reading = ReadingOf[Job["kind"]];

export type Answer =
  | { readonly ok: true; readonly reading: Reading }
  | { readonly ok: false; readonly message: string };
