import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codeOf, messageOf } from "../../../util/errors.ts";

/** What a client is told in place of what it wanted. */
export class Answer extends Error {
  readonly status: number;
  constructor(status: 400 | 403 | 408 | 431 | 502, message: string) {
    super(message);
    this.status = status;
  }
}

/** Some programs show no more of an answer than this. */
const PHRASES: { readonly [status: number]: string } = {
  400: "Bad Request",
  403: "Refused by the sandbox",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
};

/** A client that does not hang up is hung up on after so long. */
const LINGER_MS = 5_000;

/** The answer for whatever went wrong. */
export function answerOf(error: unknown): Answer {
  return error instanceof Answer ? error : new Answer(502, `The sandbox's proxy failed: ${messageOf(error)}.`);
}

/** The answer to what Node's parser did not take for a request. */
export function answerOfParser(error: unknown): Answer {
  const code = codeOf(error);
  if (code === "HPE_HEADER_OVERFLOW") return new Answer(431, "The headers of that request are longer than 16 KiB.");
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return new Answer(408, "That request took too long to come.");
  return new Answer(400, `That is no request: ${messageOf(error)}.`);
}

/** Answers a request; cuts the connection where an answer has begun already. */
export function respond(response: ServerResponse, { status, message }: Answer): void {
  if (response.headersSent || response.destroyed) return void response.destroy();
  const body = `${message}\n`;
  response.writeHead(status, PHRASES[status], {
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}

/** Answers on a connection that speaks HTTP no longer, and ends it. */
export function respondAndEnd(socket: Socket, { status, message }: Answer): void {
  if (!socket.writable) return void socket.destroy();
  const body = `${message}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${PHRASES[status]}\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
  // Closed with something unread, it would be a reset, and the answer might be lost over it.
  socket.resume();
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}
