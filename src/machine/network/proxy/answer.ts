import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codeOf, messageOf } from "../../../core/util/errors.ts";

/** The proxy's own response to a client. */
export class Answer extends Error {
  readonly status: number;
  constructor(status: 400 | 403 | 407 | 408 | 431 | 502, message: string) {
    super(message);
    this.status = status;
  }
}

/** Reason phrases. Some programs show only the phrase of a response. */
const PHRASES: { readonly [status: number]: string } = {
  400: "Bad Request",
  403: "Refused by Handrail",
  407: "Proxy Authentication Required",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
};

/** How a client is to identify itself (RFC 7617). */
const CHALLENGE = 'Basic realm="handrail"';

/** How long a client may keep the connection open after the answer, in milliseconds. */
const LINGER_MS = 5_000;

/** The answer for any error. */
export function answerOf(error: unknown): Answer {
  return error instanceof Answer ? error : new Answer(502, `Handrail's proxy failed: ${messageOf(error)}.`);
}

/** The answer to an error of Node's HTTP parser. */
export function answerOfParser(error: unknown): Answer {
  const code = codeOf(error);
  if (code === "HPE_HEADER_OVERFLOW") return new Answer(431, "The headers of that request are longer than 16 KiB.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Answer(408, "That request took too long to arrive.");
  return new Answer(400, `That is no request: ${messageOf(error)}.`);
}

/** Answers a request. If a response has already begun, cuts the connection. */
export function respond(response: ServerResponse, { status, message }: Answer): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = `${message}\n`;
  response.writeHead(status, PHRASES[status], {
    ...(status === 407 && { "proxy-authenticate": CHALLENGE }),
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** Answers on a connection that Node no longer handles as HTTP, and ends it. */
export function respondAndEnd(socket: Socket, { status, message }: Answer): void {
  if (!socket.writable) return void socket.destroy();
  const body = `${message}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${PHRASES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      (status === 407 ? `Proxy-Authenticate: ${CHALLENGE}\r\n` : "") +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Closing a socket with unread data sends a reset, and the answer might be lost.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
