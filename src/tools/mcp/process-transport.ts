import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import type { Process } from "../../core/contract/backend.ts";
import { describeEnd, describeTraces } from "../../core/output/describe-exit.ts";
import { pause } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { withExactNumbers } from "../../core/util/exact-json.ts";
import { linesOf } from "../../core/util/lines.ts";
import type { TokenProvider } from "./server-settings.ts";

/** An open transport to a server. */
export interface OpenedTransport {
  readonly transport: Transport;
  /**
   * Returns why the transport ended by itself, if known: for a program, its exit status and its last line of stderr.
   * Never rejects.
   */
  explain(mask: (text: string) => string): Promise<string | undefined>;
  /** `TokenProvider.changed` of a server with logins. */
  readonly changed?: TokenProvider["changed"];
  /** Returns the end of a sentence about why Handrail closed the transport: see `describeTraces`. Never rejects. */
  traces(mask: (text: string) => string): Promise<string>;
}

/** The maximum length of a line. A longer line ends the connection, because lines are held in memory. 32 MiB. */
const MAX_LINE_BYTES = 33_554_432;

/** How long to wait for the exit of a program whose connection has failed, in milliseconds. */
const EXIT_MS = 200;
/** How long to wait for the exit of a program that no longer reads its stdin, in milliseconds. */
const UNREAD_MS = 3_000;

/**
 * Exchanges JSON-RPC messages with a program, one per line. Reports other lines to `onerror` and skips them. `close`
 * ends the program.
 */
export function processTransport(program: Process): OpenedTransport {
  let closed = false;

  const take = (line: string) => {
    if (line.trim() === "") return;
    const message = messageIn(line);
    if (message === undefined) transport.onerror?.(new Error("a line of stdout is not a JSON-RPC message"));
    else transport.onmessage?.(message);
  };

  const read = async () => {
    for await (const line of linesOf(program.output.follow(), MAX_LINE_BYTES)) {
      if (closed) return;
      take(line);
    }
  };

  let isEnded = false;
  let endedByUs = false;
  let isUnread = false;
  const exit = program.exit.then((how) => {
    isEnded = true;
    return how;
  });
  let closing: Promise<void> | undefined;
  const close = () => {
    closed = true;
    closing ??= end();
    return closing;
  };
  const end = async () => {
    if (isUnread) await Promise.race([exit, pause(UNREAD_MS, undefined, { keepsAlive: false })]);
    endedByUs = !isEnded;
    await program.kill();
    transport.onclose?.();
  };

  const transport: Transport & { readonly pid: number; readonly stderr: null } = {
    // These two tell the SDK that this is a process and not HTTP. A process that does not answer the SDK's first probe
    // has an older revision.
    pid: Number(program.id),
    stderr: null,
    async start() {
      void read()
        .catch((error: unknown) => transport.onerror?.(new Error(messageOf(error))))
        .then(() => Promise.race([exit, pause(EXIT_MS, undefined, { keepsAlive: false })]))
        .finally(() => void close());
    },
    async send(message) {
      await program.write(`${JSON.stringify(message)}\n`).catch((error: unknown) => {
        isUnread = true;
        throw error;
      });
    },
    close,
  };
  return {
    transport,
    async explain(mask) {
      const how = await Promise.race([exit, pause(EXIT_MS, undefined, { keepsAlive: false })]);
      return how === undefined || endedByUs ? undefined : describeEnd(how, program, mask);
    },
    traces: (mask) => describeTraces(program, mask),
  };
}

/** Parses a message. The SDK validates the rest. */
function messageIn(line: string): JSONRPCMessage | undefined {
  try {
    const value: unknown = JSON.parse(withExactNumbers(line));
    const isMessage = typeof value === "object" && value !== null && "jsonrpc" in value && !Array.isArray(value);
    return isMessage ? (value as JSONRPCMessage) : undefined;
  } catch {
    return undefined;
  }
}
