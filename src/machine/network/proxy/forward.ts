import { type ClientRequest, type IncomingMessage, type ServerResponse, STATUS_CODES, request as ask } from "node:http";
import type { Socket } from "node:net";
import { pipeline } from "node:stream";
import { messageOf } from "../../../core/util/errors.ts";
import { words } from "../../../core/util/text.ts";
import { join } from "./join.ts";

/** Where a plain request is sent. */
export interface Onward {
  readonly socket: Socket;
  /** The target in the request's first line: a path, or the whole URL for an upstream proxy. */
  readonly path: string;
  /** The `Host` header that is sent. It is the target's, whatever the client's own header says. */
  readonly host: string;
  /** Credentials for an upstream proxy. */
  readonly authorization?: string | undefined;
}

type Headers = { [name: string]: string | string[] };

/** Headers about a single connection. They are not forwarded (RFC 9110, 7.6.1). */
const OF_ONE_CONNECTION = new Set(
  words(`
    connection keep-alive proxy-authenticate proxy-authentication-info proxy-authorization proxy-connection te trailer
    transfer-encoding upgrade
  `),
);

/**
 * Forwards a request, and returns the answer. Each request uses its own connection. `failed` gets the message of an
 * error before the answer begins. After that, an error cuts the client's connection: half an answer must not pass for a
 * whole one.
 */
export function forward(
  incoming: IncomingMessage,
  response: ServerResponse,
  onward: Onward,
  failed: (message: string) => void,
): void {
  const outgoing = onwardRequest(incoming, onward, ownHeaders(incoming));
  response.once("close", () => outgoing.destroy());
  outgoing.on("error", (error) => {
    if (!response.headersSent) failed(messageOf(error));
  });
  outgoing.once("response", (answer) => {
    response.sendDate = false;
    response.writeHead(answer.statusCode ?? 502, answer.statusMessage, ownHeaders(answer));
    pipeline(answer, response, (error) => {
      if (error) response.destroy();
    });
  });
  incoming.pipe(outgoing);
}

/** Forwards a request that changes the protocol (WebSocket). `socket` is the client's. */
export function forwardUpgrade(
  incoming: IncomingMessage,
  socket: Socket,
  head: Buffer,
  onward: Onward,
  failed: (message: string) => void,
): void {
  const outgoing = onwardRequest(incoming, onward, {
    ...ownHeaders(incoming),
    connection: "Upgrade",
    upgrade: incoming.headers.upgrade ?? "",
  });
  socket.once("close", () => outgoing.destroy());
  outgoing.on("error", (error) => failed(messageOf(error)));
  outgoing.once("upgrade", (answer, upgraded: Socket, firstBytes: Buffer) => {
    socket.write(
      headOf(answer, { ...ownHeaders(answer), connection: "Upgrade", upgrade: answer.headers.upgrade ?? "" }),
    );
    if (firstBytes.length > 0) upgraded.unshift(firstBytes);
    if (head.length > 0) socket.unshift(head);
    join(socket, upgraded);
  });
  outgoing.once("response", (answer) => {
    // The protocol was not changed: the connection ends after the answer.
    socket.write(headOf(answer, { ...ownHeaders(answer), connection: "close" }));
    pipeline(answer, socket, () => undefined);
  });
  outgoing.end();
}

function onwardRequest(
  { method = "GET", headers }: IncomingMessage,
  { socket, path, host, authorization }: Onward,
  own: Headers,
): ClientRequest {
  return ask({
    method,
    path,
    headers: {
      ...own,
      host,
      // Forwards chunked framing only if the client used it: a request without a body must not get chunked framing.
      ...(headers["transfer-encoding"] !== undefined && { "transfer-encoding": "chunked" }),
      ...(authorization !== undefined && { "proxy-authorization": authorization }),
    },
    setHost: false,
    createConnection: () => socket,
  });
}

/** The headers that are forwarded: without headers of one connection, and without headers that `Connection` names. */
function ownHeaders({ rawHeaders, headers }: IncomingMessage): Headers {
  const named = (headers.connection ?? "").toLowerCase().split(/[\s,]+/);
  const own = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    if (OF_ONE_CONNECTION.has(name) || (named.includes(name) && name !== "content-length")) continue;
    const values = own.get(name) ?? [];
    values.push(rawHeaders[index + 1] ?? "");
    own.set(name, values);
  }
  return Object.fromEntries([...own].map(([name, values]) => [name, values.length === 1 ? (values[0] ?? "") : values]));
}

function headOf({ statusCode = 502, statusMessage }: IncomingMessage, headers: Headers): string {
  const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`));
  return `HTTP/1.1 ${statusCode} ${statusMessage || STATUS_CODES[statusCode] || ""}\r\n${lines.join("\r\n")}\r\n\r\n`;
}
