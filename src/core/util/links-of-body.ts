import type { Fetched } from "../contract/fetch.ts";
import { linksOf } from "./urls-in-text.ts";

/** How much of a body is searched for links. */
const MOST_BYTES = 2_000_000;

/** Returns the links of a response, absolute. Empty for bodies that are not text. */
export function linksOfBody({ url, headers, body }: Fetched): readonly string[] {
  const type = headers["content-type"] ?? "";
  if (!/^(?:text\/|application\/(?:[\w.+-]*(?:json|xml|javascript|yaml)))|^$/i.test(type)) return [];
  return linksOf(url, Buffer.from(body.buffer, body.byteOffset, Math.min(body.length, MOST_BYTES)).toString("utf8"));
}
