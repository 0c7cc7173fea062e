import type { IncomingMessage } from "node:http";
import { tried } from "../../../core/util/errors.ts";
import { Answer } from "./answer.ts";

const HOW_TO_USE =
  'This is an HTTP proxy: expected "CONNECT host:port", or a request whose first line has a whole URL ' +
  "that begins with http://";

/** How many characters of a bad request are repeated in the answer. */
const SHOWN = 200;

/** The target of a plain request, and its path as written. @throws Answer if the first line has no complete URL. */
export function plainTarget({ url: text = "" }: IncomingMessage): { readonly url: URL; readonly path: string } {
  const url = /^http:\/\//i.test(text) ? tried(() => new URL(text)) : undefined;
  if (url === undefined) throw new Answer(400, `${HOW_TO_USE}; got ${JSON.stringify(text.slice(0, SHOWN))}.`);
  if (url.username !== "" || url.password !== "") {
    throw new Answer(400, `The URL of ${url.host} contains a user name or password. Send them in a header.`);
  }
  const written = /^http:\/\/[^/?#\\]*(\/[^\\#]*)$/i.exec(text)?.[1];
  return { url, path: written ?? url.pathname + url.search };
}

/** The target of a CONNECT request, exactly "host:port". @throws Answer for any other form. */
export function tunnelTarget({ url: text = "" }: IncomingMessage): URL {
  const isAuthority = /^(?:\[[\da-f:.]+\]|[^\s/\\@#?%:[\]]+):\d{1,5}$/i.test(text);
  const url = isAuthority ? tried(() => new URL(`http://${text}/`)) : undefined;
  if (url === undefined) throw new Answer(400, `${HOW_TO_USE}; got CONNECT ${JSON.stringify(text.slice(0, SHOWN))}.`);
  return url;
}
