import type { Process } from "../../core/contract/backend.ts";
import type { Content } from "../../core/contract/content.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { describeEnd, describeTraces } from "../../core/output/describe-exit.ts";
import { oneLine } from "../../core/output/terminal-text.ts";
import { onAbort, pause } from "../../core/util/abort.ts";
import { linesOf } from "../../core/util/lines.ts";
import { messageOf } from "../../core/util/errors.ts";
import { activeTraceparent } from "../../core/util/trace.ts";
import { type PluginMessage, readMessage } from "./messages.ts";

/** The maximum size of a line, and of everything between two messages, in bytes. 10 MB. */
const LONGEST_LINE = 10_000_000;
/** A plugin that has not answered `init` within this time is also asked in the older form. Milliseconds. */
const ASK_AGAIN_MS = 1_000;
/** How long a cancelled call may still send its result, in milliseconds. */
const CANCEL_MS = 2_000;
/** How long a plugin may take to exit after its stdin has ended, in milliseconds. */
const LEAVE_MS = 500;
/** How many finished calls are remembered. */
const MOST_OVER = 1_000;
/** How many characters are shown of a line. */
const SHOWN = 200;

export interface ConnectionOptions {
  /** The first message. "describe" is the older form, for a plugin that exited after "init". */
  readonly first: "init" | "describe";
  /** How long the plugin may take to name its tools, in milliseconds. */
  readonly startMs: number;
  /** How long a call may take without a result or an update, in milliseconds. */
  readonly quietMs: number;
  /** Called in order with the tools whenever the plugin names them again. When it rejects, the plugin is ended. */
  readonly onTools: (tools: readonly unknown[]) => Promise<void> | void;
  /** Called with faults in the plugin's messages, once per kind, as the end of a sentence about the plugin. */
  readonly onFault: (fault: string) => void;
  /** Masks secrets in what the plugin writes to stderr. */
  readonly mask: (text: string) => string;
}

export interface PluginCall {
  readonly id: string;
  readonly name: string;
  readonly params: unknown;
  readonly signal: AbortSignal;
  readonly onUpdate: (message: string) => void;
}

export interface PluginResult {
  readonly content: readonly Content[];
  readonly isError: boolean;
}

/** A plugin that has named its tools. */
export interface PluginConnection {
  /** The form of the protocol that the plugin uses. */
  readonly form: "init" | "describe";
  readonly tools: readonly unknown[];
  /**
   * Makes a call. Rejects with a `ToolFailure`, the end of a sentence about the plugin, when the plugin ends before it
   * has answered or is quiet for too long; with the signal's reason when that fires.
   */
  call(call: PluginCall): Promise<PluginResult>;
  /** Resolves to how the plugin ended: `Exit code 1, after "no licence"`. Never rejects. */
  readonly ended: Promise<string>;
  /** Ends the plugin. Never rejects. */
  close(): Promise<void>;
}

/** The calls without a result, and the latest calls that have a result. */
interface Pending {
  /** Resolves to the result of a call. */
  add(call: PluginCall): Promise<PluginResult>;
  /** The call, which is no longer quiet. */
  heard(id: string): PluginCall | undefined;
  /** The only call that is pending. */
  only(): string | undefined;
  /** Ends a call. False: the call is not pending. */
  settle(id: string | undefined, result: PluginResult | Error): boolean;
  /** How a call ended: "given up" before its answer. */
  over(id: string): "answered" | "given up" | undefined;
  /** Ends all calls. */
  fail(failure: ToolFailure): void;
}

/** @param cancel is called with calls that have been quiet for `quietMs` */
function createPending(quietMs: number, cancel: (call: PluginCall) => void): Pending {
  const pending = new Map<string, { call: PluginCall; heardMs: number; end(result: PluginResult | Error): void }>();
  /** The latest finished calls, in two halves. */
  let over = new Map<string, "answered" | "given up">();
  let olderOver = over;
  let watching: NodeJS.Timeout | undefined;

  const settle = (id: string | undefined, result: PluginResult | Error) => {
    const found = id === undefined ? undefined : pending.get(id);
    if (id === undefined || found === undefined) return false;
    pending.delete(id);
    if (over.size >= MOST_OVER / 2) [olderOver, over] = [over, new Map()];
    over.set(id, result instanceof Error ? "given up" : "answered");
    found.end(result);
    return true;
  };
  /** Uses one timer for all calls: nearly all end before it fires. */
  const watchQuiet = () => {
    const soonest = performance.now() - quietMs;
    let oldest = Infinity;
    for (const [id, { call, heardMs }] of pending) {
      oldest = Math.min(oldest, heardMs);
      if (heardMs > soonest) continue;
      const seconds = quietMs / 1_000;
      settle(id, new ToolFailure(`sent neither a result nor an update for ${seconds} s; the call was cancelled`));
      cancel(call);
    }
    watching = pending.size === 0 ? undefined : setTimeout(watchQuiet, Math.max(1, oldest - soonest)).unref();
  };

  return {
    add: (call) =>
      new Promise((resolve, reject) => {
        const end = (result: PluginResult | Error) => (result instanceof Error ? reject(result) : resolve(result));
        pending.set(call.id, { call, heardMs: performance.now(), end });
        watching ??= setTimeout(watchQuiet, quietMs).unref();
      }),
    heard(id) {
      const found = pending.get(id);
      if (found !== undefined) found.heardMs = performance.now();
      return found?.call;
    },
    only: () => (pending.size === 1 ? [...pending.keys()][0] : undefined),
    settle,
    over: (id) => over.get(id) ?? olderOver.get(id),
    fail(failure) {
      clearTimeout(watching);
      for (const id of pending.keys()) settle(id, failure);
    },
  };
}

interface Handshake {
  readonly ask: (form: "init" | "describe") => Promise<unknown>;
  readonly first: "init" | "describe";
  readonly startMs: number;
  readonly tools: Promise<readonly unknown[]>;
  readonly ended: Promise<string>;
}

/** Asks for the tools, after a while also in the other form. Resolves to them, or to why there are none. */
async function answered({ ask, first, startMs, tools, ended }: Handshake): Promise<readonly unknown[] | string> {
  const quiet = new AbortController();
  void ask(first);
  void pause(ASK_AGAIN_MS, quiet.signal).then(() => {
    if (!quiet.signal.aborted) void ask(first === "init" ? "describe" : "init");
  });
  const late = pause(startMs, quiet.signal).then(() => `it did not name its tools within ${startMs / 1_000} s`);
  const outcome = await Promise.race([tools, ended.then((how) => `it has ended: ${how}`), late]);
  quiet.abort();
  return outcome;
}

/**
 * Communicates with a plugin that was started with live streams: requests its tools, and makes calls, concurrently.
 *
 * @throws ToolFailure when it does not name its tools in time. It is ended then.
 */
export async function connect(
  process: Process,
  { first, startMs, quietMs, onTools, onFault, mask }: ConnectionOptions,
): Promise<PluginConnection> {
  const pending = createPending(quietMs, (call) => cancel(call));
  const faults = new Set<string>();
  let form: "init" | "describe" | undefined;
  let broken: string | undefined;
  let hasEnded: string | undefined;
  let sinceMessage = 0;
  /** The last call of the older form. The next call is sent after this one was answered. */
  let turn: Promise<unknown> = Promise.resolve();
  let named: (tools: readonly unknown[]) => void = () => {};
  const tools = new Promise<readonly unknown[]>((resolve) => (named = resolve));

  const fault = (kind: string, words: () => string) => {
    if (faults.has(kind)) return;
    faults.add(kind);
    onFault(words());
  };
  const send = (message: object) => process.write(`${JSON.stringify(message)}\n`);
  const end = async (why: string) => {
    broken ??= why;
    await process.kill();
  };

  const hear = (message: PluginMessage, line: string): Promise<void> | void => {
    switch (message.type) {
      case "tools":
        if (form === undefined) {
          form = message.form;
          named(message.tools);
        } else if (form === message.form) return onTools(message.tools);
        return;
      case "update": {
        return pending.heard(message.callId ?? "")?.onUpdate(message.message);
      }
      case "result": {
        if (pending.settle(message.callId ?? pending.only(), message)) return;
        if (form === undefined) return; // an answer to a message that it does not understand
        const { callId } = message;
        if (callId === undefined)
          return fault("no-id", () => "sent a result without the call_id of a call that is running.");
        const known = pending.over(callId);
        if (known === "given up") return;
        const times = known === undefined ? "that it was not given" : "twice";
        return fault(
          times,
          () => `answered a call ${times}: call_id ${oneLine(mask(callId), SHOWN)}. The answer is ignored.`,
        );
      }
      case "none":
        return fault("noise", () => {
          const shown = oneLine(mask(line), SHOWN);
          return `wrote a line to stdout that is not a message: ${message.why}, got "${shown}". Logs belong on stderr.`;
        });
    }
  };

  const read = async () => {
    for await (const line of linesOf(process.output.follow(), LONGEST_LINE)) {
      if (line.trim() === "") continue;
      const message = readMessage(line);
      sinceMessage = message.type === "none" ? sinceMessage + line.length : 0;
      await hear(message, line);
      if (sinceMessage > LONGEST_LINE)
        throw new RangeError(`it wrote more than ${LONGEST_LINE} bytes without a message`);
    }
  };

  const ended = (async () => {
    const reading = read().catch((error: unknown) => end(messageOf(error)));
    const exit = await process.exit;
    await reading;
    hasEnded = broken === undefined ? await describeEnd(exit, process, mask) : `stopped by Handrail: ${broken}`;
    const failure = new ToolFailure(`has ended: ${hasEnded}`, {
      hint: "The call may have done some of its work, or all of it.",
    });
    pending.fail(failure);
    return hasEnded;
  })();

  const cancel = ({ id }: PluginCall) => {
    if (form === "describe") return void end("the older protocol has no other way to cancel a call");
    send({ type: "cancel", call_id: id }).catch(() => undefined); // the plugin has ended, or does not read this either
  };

  /** Makes one call, and waits for its result. */
  const perform = async (call: PluginCall): Promise<PluginResult> => {
    const { id, name, params, signal } = call;
    signal.throwIfAborted();
    if (hasEnded !== undefined) throw new ToolFailure(`has ended: ${hasEnded}`, { hint: "Nothing was run." });
    const result = pending.add(call);
    let cancelTimer: NodeJS.Timeout | undefined;
    const release = onAbort(signal, () => {
      cancel(call);
      const reason: unknown = signal.reason;
      cancelTimer = setTimeout(
        () => pending.settle(id, reason instanceof Error ? reason : new Error(String(reason))),
        CANCEL_MS,
      );
    });
    // A failed write means that the process is ending, which settles the call.
    const traceparent = activeTraceparent();
    send({ type: "call", name, call_id: id, params, ...(traceparent !== undefined && { traceparent }) }).catch(
      () => undefined,
    );
    try {
      return await result;
    } finally {
      clearTimeout(cancelTimer);
      release();
    }
  };

  const ask = (type: "init" | "describe") =>
    send(type === "init" ? { type, tools: [] } : { type }).catch(() => undefined); // its end reports the failure
  const outcome = await answered({ ask, first, startMs, tools, ended });
  if (typeof outcome === "string") {
    await process.kill();
    throw new ToolFailure(hasEnded === undefined ? `${outcome}${await describeTraces(process, mask)}` : outcome);
  }
  return {
    form: form ?? "init",
    tools: outcome,
    call(call) {
      if (form === "init") return perform(call);
      const mine = turn.then(() => perform(call));
      turn = mine.catch(() => undefined);
      return mine;
    },
    ended,
    async close() {
      await process.endInput().catch(() => undefined);
      const leaving = new AbortController();
      await Promise.race([process.exit, pause(LEAVE_MS, leaving.signal)]);
      leaving.abort();
      await process.kill();
    },
  };
}
