import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  type Transport,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { messageOf } from "../util/errors.ts";

export interface LineTransportOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** The maximum length of a line, in bytes. A longer line ends the connection, because lines are held in memory. */
  readonly maxLineBytes: number;
}

/**
 * Reads and writes JSON-RPC messages, one per line. Closes when stdin ends or stdout fails. Used in place of the SDK's
 * own transport, which drops lines that are not messages without an answer.
 *
 * A line that is not JSON is answered with error -32700, JSON that is not a message with -32600, both with the id null
 * (JSON-RPC 2.0, section 5). A batch gets -32600 in every revision: only 2025-03-26 had batches. What looks like a
 * response is never answered, so that two sides cannot answer each other's errors forever. Blank lines are ignored.
 */
export function lineTransport({ stdin, stdout, maxLineBytes }: LineTransportOptions): Transport {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  let closed = false;

  const read = (chunk: Buffer | string) => {
    let rest = Buffer.from(chunk);
    for (let end = rest.indexOf(LINE_FEED); end >= 0 && !closed; end = rest.indexOf(LINE_FEED)) {
      const line = Buffer.concat([...unfinished, rest.subarray(0, end)]).toString("utf8");
      rest = rest.subarray(end + 1);
      unfinished = [];
      unfinishedBytes = 0;
      take(line);
    }
    unfinished.push(rest);
    unfinishedBytes += rest.length;
    if (unfinishedBytes > maxLineBytes) fail(new Error(`a line of the client is longer than ${maxLineBytes} bytes`));
  };

  const take = (line: string) => {
    if (line.trim() === "") return;
    const parsed = parse(line);
    if ("message" in parsed) return transport.onmessage?.(parsed.message);
    const { error, isResponse } = parsed;
    transport.onerror?.(new Error(error.message));
    if (isResponse) return;
    write({ jsonrpc: "2.0", id: null, error }).catch(() => undefined); // a closed connection needs no answer
  };

  const write = (message: object) =>
    new Promise<void>((resolve, reject) => {
      if (closed) return reject(new Error("the connection is closed"));
      stdout.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });

  const fail = (error: Error) => {
    if (closed) return; // a pending write may still fail
    transport.onerror?.(error);
    close();
  };

  const close = () => {
    if (closed) return;
    closed = true;
    stdin.off("data", read).off("end", close).off("close", close);
    if (stdin.listenerCount("data") === 0) stdin.pause(); // otherwise it would keep the process alive
    unfinished = [];
    transport.onclose?.();
  };

  const transport: Transport = {
    async start() {
      stdin.on("data", read).on("end", close).on("close", close).on("error", fail);
      stdout.on("error", fail);
      if (stdin.readableEnded || stdin.destroyed) setImmediate(close);
    },
    send: write,
    async close() {
      close();
    },
  };
  return transport;
}

const LINE_FEED = 10;

interface NotMessage {
  readonly error: { readonly code: number; readonly message: string };
  readonly isResponse: boolean;
}

function parse(line: string): { readonly message: JSONRPCMessage } | NotMessage {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const message = `Parse error: the line is not JSON: ${messageOf(error)}`;
    return { error: { code: PARSE_ERROR, message }, isResponse: false };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    const message = Array.isArray(value)
      ? "Invalid Request: batches are not supported; send each message on a line of its own"
      : "Invalid Request: the line is not a JSON-RPC 2.0 request, notification or response";
    return { error: { code: INVALID_REQUEST, message }, isResponse: looksLikeResponse(value) };
  }
}

function looksLikeResponse(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "method" in value) return false;
  return "result" in value || "error" in value;
}
