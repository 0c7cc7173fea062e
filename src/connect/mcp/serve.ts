import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  type Server,
  type Transport,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";
import { serveStdio as serveOver } from "@modelcontextprotocol/server/stdio";
import type { ThreadId } from "../../core/contract/identity.ts";
import type { Toolkit } from "../../core/contract/toolkit.ts";
import { createCalls } from "./calls.ts";
import type { Offering } from "../../tools/mcp/offering.ts";
import { MAX_MESSAGE_BYTES, createServer, tellChanged } from "./server.ts";
import { reserveStdout } from "./stdout.ts";
import { lineTransport } from "./transport.ts";

/** The revisions that are served without a handshake, as the SDK names them. */
const MODERN_REVISIONS: readonly string[] = ["2026-07-28"];

/** How long calls may run on after stdin has ended. Clients that leave stop the program sooner. Milliseconds. */
const FINISH_MS = 10_000;

/** The longest timer of Node, in milliseconds. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface ServeStdioOptions extends Offering {
  /** The reported version of the server. Default: that of this package. */
  readonly version?: string;
  /** The thread that the calls belong to. Default "main". */
  readonly thread?: ThreadId;
  /**
   * True (the default) to ask for approvals through the client if it supports elicitation, and otherwise through the
   * toolkit's own approver, if any. False to always use the toolkit's own.
   */
  readonly askClient?: boolean;
  /** How long a person may take to answer, in milliseconds. The call is stopped afterwards. Default 10 minutes. */
  readonly answerWithinMs?: number;
  /** The last sentence of a denial when nobody could be asked: where a person can answer. */
  readonly howToApprove?: string;
  /** True to close the toolkit with the connection. Default false. */
  readonly closeToolkit?: boolean;
  /**
   * How long calls may still run after stdin has ended, in milliseconds, so that `printf '…' | handrail mcp` gets their
   * answers. Default 10,000.
   */
  readonly finishMs?: number;
  /** The source of the client's messages. Default: stdin of this process. */
  readonly stdin?: Readable;
  /**
   * The destination of messages to the client. Default: stdout of this process. Until the connection ends, other writes
   * to stdout (`console.log` in a tool) go to stderr.
   */
  readonly stdout?: Writable;
  /** Called with errors outside calls: lines that are not messages, answers to no request. Default: ignored. */
  readonly onError?: (error: Error) => void;
}

/** A served connection. */
export interface StdioService {
  /**
   * Resolves when the connection and all its calls have ended. The connection ends when stdin has ended and nothing runs
   * or `finishMs` has passed, when stdout fails, or with `close`. Its calls are stopped then. Rejects only if
   * `closeToolkit` is set and closing the toolkit fails.
   */
  readonly closed: Promise<void>;
  /** Ends the connection. Settles like `closed`. */
  close(): Promise<void>;
}

/**
 * Serves the tools of a toolkit to one MCP client, as lines of JSON on stdin and stdout. Supports protocol revisions
 * 2024-10-07 to 2025-11-25 (opened with `initialize`) and 2026-07-28 (every request names its sender). The client's
 * first message decides.
 *
 * A line that is not a message is answered with a JSON-RPC error. So is a batch, in every revision: each message must
 * have its own line.
 *
 * The toolkit is not closed with the connection, unless `closeToolkit` is set.
 */
export function serveStdio(toolkit: Toolkit, options: ServeStdioOptions = {}): StdioService {
  const { version = __VERSION__, closeToolkit = false, onError } = options;
  const { stdin = process.stdin, stdout = process.stdout } = options;
  const reserved = stdout === process.stdout ? reserveStdout() : undefined;
  const transport = lineTransport({
    stdin,
    stdout: reserved?.stream ?? stdout,
    maxLineBytes: MAX_MESSAGE_BYTES,
    finishMs: options.finishMs ?? FINISH_MS,
  });
  const calls = createCalls(toolkit, options);
  let hasHandshake = false;
  let server: Server | undefined;
  const forget = toolkit.onToolsChanged(() => void (server && tellChanged(server)));
  const connection = serveOver(
    ({ era }) => {
      hasHandshake = era === "legacy";
      server = createServer(toolkit, { ...options, version, calls, era });
      return server;
    },
    { transport, ...(onError !== undefined && { onerror: onError }) },
  );
  watchCancellations(transport, calls.cancel);
  refuseUnknownRevisions(transport, () => hasHandshake);
  const end = async () => {
    forget();
    await calls.close();
    reserved?.release();
    if (closeToolkit) await toolkit.close();
  };
  const closed = ended(transport).then(() => keepingAlive(end));
  return {
    closed,
    async close() {
      await connection.close();
      await closed;
    },
  };
}

/**
 * Calls `cancel` with the id of every request that the client cancels. The SDK only looks among unanswered requests; a
 * call that waits for an approval has been answered.
 */
function watchCancellations(transport: Transport, cancel: (request: RequestId) => void): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage) => {
    if ("method" in message && message.method === "notifications/cancelled") {
      const request = message.params?.["requestId"];
      if (typeof request === "string" || typeof request === "number") cancel(request);
    }
    deliver?.(message);
  };
}

/**
 * Answers requests that name an unsupported revision (as they do from 2026-07-28 on) with error -32022. The SDK only
 * checks the first request of a connection.
 */
function refuseUnknownRevisions(transport: Transport, hasHandshake: () => boolean): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage) => {
    const requested = hasHandshake() ? undefined : revisionOf(message);
    if (requested === undefined || !("id" in message) || MODERN_REVISIONS.includes(requested)) {
      return deliver?.(message);
    }
    const supported = [...MODERN_REVISIONS];
    const { code, message: text, data } = new UnsupportedProtocolVersionError({ supported, requested });
    const answer = { jsonrpc: "2.0" as const, id: message.id, error: { code, message: text, data } };
    transport.send(answer).catch(() => undefined); // a closed connection needs no answer
  };
}

/** Returns the revision that a message names. Older revisions are negotiated in the handshake instead. */
function revisionOf(message: JSONRPCMessage): string | undefined {
  if (!("method" in message) || message.method === "initialize") return undefined;
  const revision = message.params?._meta?.[PROTOCOL_VERSION_META_KEY];
  return typeof revision === "string" ? revision : undefined;
}

/** Resolves when the transport has closed, for whatever reason. */
function ended(transport: Transport): Promise<void> {
  const tell = transport.onclose;
  return new Promise((resolve) => {
    transport.onclose = () => {
      tell?.();
      resolve();
    };
  });
}

/**
 * Keeps the process alive during the work: after stdin has ended, nothing else may do so while commands are stopped.
 */
async function keepingAlive(work: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, MAX_TIMER_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
}
