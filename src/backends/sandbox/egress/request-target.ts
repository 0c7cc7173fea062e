import type { IncomingMessage } from "node:http";
import { Answer } from "./answer.ts";

const HOW_TO_USE =
  'This is an HTTP proxy: expected "CONNECT host:port", or a request whose first line has a whole URL that begins with http://';

/** As much of what a client wrote is shown to it again. */
const SHOWN = 200;

/**
 * The target of a plain request, and its path exactly as it was written.
 *
 * @throws Answer for a first line without a whole URL.
 */
export function plainTarget({ url: text = "" }: IncomingMessage): { readonly url: URL; readonly path: string } {
  const url = /^http:\/\//i.test(text) ? parsed(text) : undefined;
  if (url === undefined) throw new Answer(400, `${HOW_TO_USE}; got ${JSON.stringify(text.slice(0, SHOWN))}.`);
  if (url.username !== "" || url.password !== "") {
    throw new Answer(400, `The URL of ${url.host} has a user name or password in it. Send them as a header.`);
  }
  const written = /^http:\/\/[^/?#\\]*(\/[^\\#]*)$/i.exec(text)?.[1];
  return { url, path: written ?? url.pathname + url.search };
}

/**
 * "host:port" of CONNECT, and nothing else.
 *
 * @throws Answer for what is none.
 */
export function tunnelTarget({ url: text = "" }: IncomingMessage): URL {
  const isAuthority = /^(?:\[[\da-f:.]+\]|[^\s/\\@#?%:[\]]+):\d{1,5}$/i.test(text);
  const url = isAuthority ? parsed(`http://${text}/`) : undefined;
  if (url === undefined) throw new Answer(400, `${HOW_TO_USE}; got CONNECT ${JSON.stringify(text.slice(0, SHOWN))}.`);
  return url;
}

function parsed(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
