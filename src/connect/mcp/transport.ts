import type { Readable, Writable } from "node:stream";
import {
  INVALID_REQUEST,
  type JSONRPCMessage,
  PARSE_ERROR,
  type RequestId,
  type Transport,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/server";
import { messageOf } from "../../core/util/errors.ts";
import { idOf, messageIn } from "./incoming.ts";

export interface LineTransportOptions {
  readonly stdin: Readable;
  readonly stdout: Writable;
  /** The maximum length of a line, in bytes. A longer line ends the connection, because lines are held in memory. */
  readonly maxLineBytes: number;
  /** How long requests may still be answered after stdin has ended, in milliseconds. */
  readonly finishMs: number;
}

/**
 * Reads and writes JSON-RPC messages, one per line. Closes when stdout fails, or when stdin has ended and its requests
 * are answered: `printf '…' | handrail mcp` gets its answers. Nobody can then answer a request to the client, so each
 * gets an error. Used in place of the SDK's own transport, which drops lines that are not messages without an answer.
 *
 * A line that is not JSON is answered with error -32700, JSON that is not a message with -32600, with its id if it has
 * one, and otherwise null (JSON-RPC 2.0, section 5). A batch gets -32600 for each request in every revision: only
 * 2025-03-26 had batches. What looks like a response is never answered, so that two sides cannot answer each other's
 * errors forever. Blank lines are ignored.
 */
export function lineTransport({ stdin, stdout, maxLineBytes, finishMs }: LineTransportOptions): Transport {
  let unfinished: Buffer[] = [];
  let unfinishedBytes = 0;
  let closed = false;
  let hasEnded = false;
  let finishing: NodeJS.Timeout | undefined;
  /** Requests of the client that are not answered. */
  const unanswered = new Set<RequestId>();
  /** Requests to the client that are not answered. */
  const asked = new Set<RequestId>();

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
    if ("message" in parsed) {
      note(parsed.message);
      return transport.onmessage?.(parsed.message);
    }
    const { error, ids } = parsed;
    transport.onerror?.(new Error(error.message));
    for (const id of ids) write({ jsonrpc: "2.0", id, error }).catch(() => undefined); // a closed connection needs none
  };

  const note = (message: JSONRPCMessage) => {
    if ("method" in message && "id" in message) unanswered.add(message.id);
    else if (!("method" in message)) asked.delete(message.id ?? "");
    else if (message.method === "notifications/cancelled")
      unanswered.delete(message.params?.["requestId"] as RequestId);
  };

  const write = (message: object) =>
    new Promise<void>((resolve, reject) => {
      if (closed) return reject(new Error("the connection is closed"));
      stdout.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()));
    });

  const send = async (message: JSONRPCMessage) => {
    const isRequest = "method" in message && "id" in message;
    if (isRequest && hasEnded) return refuse(message.id);
    if (isRequest) asked.add(message.id);
    await write(message);
    if (!("method" in message)) unanswered.delete(message.id ?? "");
    if (hasEnded && unanswered.size === 0) close();
  };

  /** Answers a request to the client that nobody can answer any more. */
  const refuse = (id: RequestId) => {
    const error = { code: INVALID_REQUEST, message: "the client has ended its input" };
    queueMicrotask(() => transport.onmessage?.({ jsonrpc: "2.0", id, error }));
  };

  const end = () => {
    if (closed || hasEnded) return;
    const last = Buffer.concat(unfinished).toString("utf8");
    unfinished = [];
    take(last);
    hasEnded = true;
    for (const id of asked) refuse(id);
    if (unanswered.size === 0) close();
    else finishing = setTimeout(close, finishMs);
  };

  const cut = () => (hasEnded ? undefined : close());

  const fail = (error: Error) => {
    if (closed) return; // a pending write may still fail
    transport.onerror?.(error);
    close();
  };

  const close = () => {
    if (closed) return;
    closed = true;
    clearTimeout(finishing);
    stdin.off("data", read).off("end", end).off("close", cut);
    if (stdin.listenerCount("data") === 0) stdin.pause(); // otherwise it would keep the process alive
    unfinished = [];
    transport.onclose?.();
  };

  const transport: Transport = {
    async start() {
      stdin.on("data", read).on("end", end).on("close", cut).on("error", fail);
      stdout.on("error", fail);
      if (stdin.readableEnded || stdin.destroyed) setImmediate(close);
    },
    send,
    async close() {
      close();
    },
  };
  return transport;
}

const LINE_FEED = 10;

interface NotMessage {
  readonly error: { readonly code: number; readonly message: string };
  /** The ids of the requests that get the error; empty for what looks like a response. */
  readonly ids: readonly (RequestId | null)[];
}

function parse(line: string): { readonly message: JSONRPCMessage } | NotMessage {
  let value: unknown;
  try {
    value = messageIn(line);
  } catch (error) {
    const message = `Parse error: the line is not JSON: ${messageOf(error)}`;
    return { error: { code: PARSE_ERROR, message }, ids: [null] };
  }
  try {
    return { message: parseJSONRPCMessage(value) };
  } catch {
    const message = Array.isArray(value)
      ? "Invalid Request: batches are not supported; send each message on a line of its own"
      : "Invalid Request: the line is not a JSON-RPC 2.0 request, notification or response";
    const requests = Array.isArray(value) ? value.filter((each) => !looksLikeResponse(each)) : [];
    const ids = looksLikeResponse(value) ? [] : (requests.length > 0 ? requests : [value]).map(idOf);
    return { error: { code: INVALID_REQUEST, message }, ids };
  }
}

function looksLikeResponse(value: unknown): boolean {
  if (typeof value !== "object" || value === null || "method" in value) return false;
  return "result" in value || "error" in value;
}
