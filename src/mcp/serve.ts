import type { Readable, Writable } from "node:stream";
import {
  type JSONRPCMessage,
  PROTOCOL_VERSION_META_KEY,
  type RequestId,
  type Transport,
  UnsupportedProtocolVersionError,
} from "@modelcontextprotocol/server";
import { serveStdio as serveOver } from "@modelcontextprotocol/server/stdio";
import type { ThreadId } from "../contract/identity.ts";
import type { Toolkit } from "../contract/toolkit.ts";
import { createCalls } from "./calls.ts";
import { createServer } from "./server.ts";
import { reserveStdout } from "./stdout.ts";
import { lineTransport } from "./transport.ts";

/** A message of a client that is longer than this many bytes ends the connection: it is held in memory whole. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** The revisions that are served without a handshake, as the SDK has them. */
const MODERN_REVISIONS: readonly string[] = ["2026-07-28"];

/** The longest that a timer of Node can be set to. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface ServeStdioOptions {
  /** What the server says its version is. Default: that of this package. */
  readonly version?: string;
  /** The thread that the calls belong to. Default "main". */
  readonly thread?: ThreadId;
  /**
   * True (the default): what the policy wants a person for is asked through the client, where the client can ask (elicitation);
   * where it cannot, the toolkit's own approver is asked, if it has one. False: always the toolkit's own.
   */
  readonly askClient?: boolean;
  /** Milliseconds a person has for an answer; after that the call is stopped. Default 10 minutes. */
  readonly answerWithinMs?: number;
  /** Ends the text of a denial where nobody could be asked: a sentence that says where a person can answer. */
  readonly howToApprove?: string;
  /** True: the toolkit is closed when the connection is. Default false. */
  readonly closeToolkit?: boolean;
  /** Where the client's messages come from. Default: stdin of this process. */
  readonly stdin?: Readable;
  /**
   * Where messages to the client go. Default: stdout of this process, and until the connection ends nothing else gets there:
   * what other code writes to it (`console.log` in a tool) goes to stderr.
   */
  readonly stdout?: Writable;
  /** Gets what goes wrong beside the calls: lines that are no messages, answers to nothing. Default: ignored. */
  readonly onError?: (error: Error) => void;
}

/** A connection that is being served. */
export interface StdioService {
  /**
   * Resolves when the connection has ended (stdin ended, stdout failed, or `close`) and every call of it too: they are stopped
   * with it. Rejects only where `closeToolkit` is asked for and closing the toolkit fails.
   */
  readonly closed: Promise<void>;
  /** Ends the connection. Settles like `closed`. */
  close(): Promise<void>;
}

/**
 * Serves the tools of a toolkit to one MCP client, in JSON lines on stdin and stdout: protocol revisions 2024-10-07 to
 * 2025-11-25 (opened with `initialize`) and 2026-07-28 (every request says who it is from). The client's first message decides.
 *
 * A line that is no message is answered with a JSON-RPC error; so is a batch, whatever the revision: every message has a line of its own.
 *
 * The toolkit stays open when the connection ends, unless `closeToolkit` says otherwise.
 */
export function serveStdio(toolkit: Toolkit, options: ServeStdioOptions = {}): StdioService {
  const { version = __VERSION__, closeToolkit = false, onError, stdin = process.stdin } = options;
  const reserved = options.stdout === undefined ? reserveStdout() : undefined;
  const transport = lineTransport({
    stdin,
    stdout: options.stdout ?? reserved?.stream ?? process.stdout,
    maxLineBytes: MAX_MESSAGE_BYTES,
  });
  const calls = createCalls(toolkit, options);
  let hasHandshake = false;
  const connection = serveOver(
    ({ era }) => {
      hasHandshake = era === "legacy";
      return createServer(toolkit, { version, calls, era });
    },
    { transport, ...(onError !== undefined && { onerror: onError }) },
  );
  watchCancellations(transport, calls.cancel);
  refuseUnknownRevisions(transport, () => hasHandshake);
  const end = async () => {
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
 * Calls `cancel` with the id of every request that the client cancels. The SDK itself looks for it among the requests that it has
 * not answered; a call that waits for an approval has been answered.
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
 * Answers requests that name a revision (as they do from 2026-07-28 on) which is not served with error -32022. The SDK itself looks at the
 * first request of a connection only.
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
    transport.send(answer).catch(() => undefined); // a client that is gone needs no answer
  };
}

/** The revision that a message names. The handshake of older revisions negotiates one instead. */
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

/** Runs the work with the process kept alive: without stdin nothing else need do that while commands are being stopped. */
async function keepingAlive(work: () => Promise<void>): Promise<void> {
  const timer = setInterval(() => {}, MAX_TIMER_MS);
  try {
    await work();
  } finally {
    clearInterval(timer);
  }
}
