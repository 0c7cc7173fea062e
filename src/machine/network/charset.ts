import { tried } from "../../core/util/errors.ts";

/**
 * Decodes the body of a response: by its byte order mark, else by the `charset` of the Content-Type header, else by the
 * declaration at the beginning of the document (HTML's meta, XML's declaration), else as UTF-8 if it is valid, else as
 * windows-1252, the web's old default (https://encoding.spec.whatwg.org). Never throws: a byte that means nothing
 * becomes U+FFFD.
 */
export function decodeBody(body: Uint8Array, contentType = ""): string {
  const label = ofMark(body) ?? known(ofHeader(contentType)) ?? known(ofDocument(body));
  if (label !== undefined) return new TextDecoder(label).decode(body);
  // A truncated body may end within a character.
  return (
    tried(() => new TextDecoder("utf-8", { fatal: true }).decode(body, { stream: true })) ??
    new TextDecoder("windows-1252").decode(body)
  );
}

/** A declaration is in the first 1,024 bytes (HTML, 4.2.5.4). */
const DECLARED_WITHIN = 1_024;

function ofMark([first, second, third]: Uint8Array): string | undefined {
  if (first === 0xef && second === 0xbb && third === 0xbf) return "utf-8";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  return first === 0xff && second === 0xfe ? "utf-16le" : undefined;
}

function ofHeader(contentType: string): string | undefined {
  return /charset\s*=\s*"?([^\s;"]+)/i.exec(contentType)?.[1];
}

function ofDocument(body: Uint8Array): string | undefined {
  const start = Buffer.from(body.subarray(0, DECLARED_WITHIN)).toString("latin1");
  const label =
    /<meta\s[^>]*?charset\s*=\s*["']?\s*([^\s"'/>;]+)/i.exec(start)?.[1] ??
    /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([^"']+)/i.exec(start)?.[1];
  // The declaration was readable as single bytes, so the body is not UTF-16, whatever it declares (HTML, 13.2.3.2).
  return label !== undefined && /^utf-?16/i.test(label) ? "utf-8" : label;
}

/** The label, if the encoding is supported: servers also send unknown labels. */
function known(label: string | undefined): string | undefined {
  if (label === undefined) return undefined;
  return tried(() => new TextDecoder(label).encoding);
}
