import type { Page, PageOptions } from "./markdown.ts";
import type { ResultPage } from "./duckduckgo.ts";
import type { PdfText } from "./pdf.ts";

/** The inputs of the worker. */
export type Job =
  | ({ readonly kind: "html"; readonly bytes: Uint8Array; readonly contentType: string } & PageOptions)
  /** Indents JSON; returns other text unchanged. */
  | { readonly kind: "json"; readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly kind: "results"; readonly bytes: Uint8Array; readonly contentType: string }
  | { readonly kind: "pdf"; readonly bytes: Uint8Array };

/** The result of a job, by its kind. */
export interface ReadingOf {
  readonly html: Page;
  readonly json: { readonly text: string };
  readonly results: ResultPage;
  readonly pdf: PdfText;
}

export type Reading = ReadingOf[Job["kind"]];

export type WorkerResult =
  | { readonly ok: true; readonly reading: Reading }
  | { readonly ok: false; readonly message: string };
