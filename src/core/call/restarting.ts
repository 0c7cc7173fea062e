import { ToolFailure } from "../contract/failure.ts";
import type { ToolSourceHost } from "../contract/tool-source.ts";
import type { Tool } from "../contract/tool.ts";
import { Stop, pause, untilAborted } from "../util/abort.ts";
import { messageOf } from "../util/errors.ts";

/**
 * Decides whether a source may be used. If not, both functions resolve to the reason: the text after the source's name,
 * as in "is not trusted."
 */
export interface SourceGuards {
  /** Called before each start. Default: it may be started. */
  readonly mayStart?: () => Promise<string | undefined>;
  /** Called whenever the source names its tools. Default: the tools may be used. */
  readonly mayUse?: (tools: readonly Tool[]) => Promise<string | undefined>;
  /** How many failures in a row make a source be given up. A successful call resets the count. Default 8. */
  readonly mostFailures?: number;
}

/** A source cannot be used, nor started again, until a person acts. The message is the text after the source's name. */
export class GivenUp extends Error {
  /** Resolves when a person has acted; then the source is started again. Default: it never is. */
  readonly acted: ((signal: AbortSignal) => Promise<void>) | undefined;

  constructor(message: string, acted?: (signal: AbortSignal) => Promise<void>) {
    super(message);
    this.acted = acted;
  }
}

/** An open connection. */
export interface Opened<C> {
  readonly connection: C;
  /** Resolves to why the connection has ended. Never rejects. */
  readonly ended: Promise<string>;
}

export interface RestartingOptions<C> {
  /** The name of the source. */
  readonly name: string;
  readonly guards: SourceGuards;
  /** The pause before the second restart in a row, in milliseconds. It doubles each time. Default 500. */
  readonly pauseMs?: number | undefined;
  /**
   * Connects, and sets the tools with `offer`, which rejects when the tools may not be used. Later changes are offered
   * too; when `offer` rejects then, the connection must be ended.
   */
  open(host: ToolSourceHost, offer: (tools: readonly Tool[]) => Promise<void>): Promise<Opened<C>>;
  /** Called after the source was given up and its tools were removed. */
  onGivenUp?(): void;
}

/** A connection that is reopened whenever it ends. */
export interface Restarting<C> {
  /** Resolves when the connection is open, or has failed twice. Never rejects. */
  start(host: ToolSourceHost): Promise<void>;
  /**
   * Returns the current connection. Waits a while for a connection that is being opened.
   *
   * @throws ToolFailure that names the source when no connection is open; the signal's reason.
   */
  current(signal: AbortSignal): Promise<C>;
  /** Records that a call has succeeded: earlier failures are no longer counted. */
  served(): void;
  /**
   * Discards an unusable connection: calls wait for the next one from now on. The caller makes `ended` resolve, and
   * closes the connection. It does not count as a failure.
   */
  drop(connection: C): void;
  close(): Promise<void>;
}

/** Calls wait during a pause of at most this length. During a longer pause they fail at once. Milliseconds. */
const PATIENT_MS = 2_000;
/** How long a call waits for a connection. Milliseconds. */
const WAIT_MS = 20_000;
/** A connection that was open for this long does not count as a failure when it ends. Milliseconds. */
const STEADY_MS = 60_000;
const MOST_FAILURES = 8;

/** Keeps a source's connection open: reopens it at once, then after growing pauses, until the source is given up. */
export function restarting<C extends { close(): Promise<void> }>(options: RestartingOptions<C>): Restarting<C> {
  const { name, guards, pauseMs = 500 } = options;
  const { mostFailures = MOST_FAILURES } = guards;
  let connection: C | undefined;
  /** The connection that calls wait for, and the function that sets it. */
  let next: Promise<C>;
  let resume: (next: Promise<C>) => void;
  let hasServed = false;

  const expectNext = () => {
    connection = undefined;
    next = quiet(new Promise<C>((resolve) => (resume = resolve)));
  };
  const notRunning = (why: string, hint: string) => new ToolFailure(`${name} is not running: ${why}`, { hint });

  const open = async (host: ToolSourceHost, offer: (tools: readonly Tool[]) => Promise<void>) => {
    const refused = await guards.mayStart?.();
    if (refused !== undefined) throw new GivenUp(refused);
    const opened = await options.open(host, offer);
    ({ connection } = opened);
    return opened;
  };

  /** Opens a connection and waits for its end. Resolves to why it ended, or why it could not be opened. */
  const live = async (host: ToolSourceHost, onOpen: () => void): Promise<string | GivenUp> => {
    let refusal: GivenUp | undefined;
    const opening = open(host, async (tools) => {
      const refused = await guards.mayUse?.(tools);
      if (refused === undefined) return host.set(tools);
      throw (refusal = new GivenUp(refused));
    });
    const mine = quiet(
      opening.then(
        (opened) => opened.connection,
        (error: unknown) => Promise.reject(notRunning(messageOf(error), "Try again later, or continue without it.")),
      ),
    );
    resume(mine);
    next = mine;
    try {
      const { ended } = await opening;
      onOpen();
      const why = await ended;
      return refusal ?? why;
    } catch (error) {
      return error instanceof GivenUp ? error : messageOf(error);
    } finally {
      if (next === mine) expectNext();
    }
  };

  const keepOpen = async (host: ToolSourceHost, onSettled: () => void) => {
    for (let failures = 0; !host.signal.aborted;) {
      let openedMs: number | undefined;
      hasServed = false;
      const problem = await live(host, () => {
        openedMs = performance.now();
        onSettled();
      });
      if (host.signal.aborted) return;
      const isSteady = openedMs !== undefined && performance.now() - openedMs > STEADY_MS;
      failures = hasServed || isSteady ? 1 : failures + 1;
      const why = typeof problem === "string" ? problem : problem.message;
      if (typeof problem !== "string" || failures >= mostFailures) {
        resume(Promise.reject(notRunning(why, "Continue without it.")));
        host.set([]);
        options.onGivenUp?.();
        const times = `has failed ${failures} times and will not be restarted: ${why}.`;
        host.notice(`${name} ${typeof problem === "string" ? times : why}`);
        if (typeof problem === "string" || problem.acted === undefined) return;
        onSettled();
        await problem.acted(host.signal);
        failures = 0;
        continue;
      }
      if (openedMs !== undefined) host.notice(`${name} has ended: ${why}. It is being restarted.`);
      else if (failures === 2) host.notice(`${name} cannot be started: ${why}. It will be tried again.`);
      if (failures > 1) onSettled();
      const waitMs = failures === 1 ? 0 : pauseMs * 2 ** (failures - 2);
      if (waitMs > PATIENT_MS) resume(Promise.reject(notRunning(why, `It will be restarted in ${waitMs / 1_000} s.`)));
      // With an unreferenced timer of 0 ms, a process that waits for the second attempt would end.
      if (waitMs > 0) await pause(waitMs, host.signal, { keepsAlive: false });
    }
  };

  expectNext();
  return {
    start: (given) =>
      new Promise((resolve) => {
        const { signal } = new Stop(given.signal); // the signal gets many listeners
        const start: ToolSourceHost["start"] = (program) =>
          given.start(program).catch((error: unknown) => Promise.reject(cannotStart(error)));
        void keepOpen({ ...given, signal, start }, resolve).finally(resolve);
      }),
    async current(signal) {
      if (connection !== undefined) return connection;
      const waiting = new Stop(signal);
      const late = new ToolFailure(`${name} is still starting`, { hint: "Try again later, or continue without it." });
      const timer = setTimeout(() => waiting.abort(late), WAIT_MS);
      try {
        return await untilAborted(next, waiting.signal);
      } finally {
        clearTimeout(timer);
        waiting.unlink();
      }
    },
    served: () => void (hasServed = true),
    drop(dropped) {
      if (dropped !== connection) return;
      hasServed = true; // the server answers, and is asked for another connection
      expectNext();
    },
    close: async () => connection?.close(),
  };
}

/** Returns a `GivenUp` for a program that is missing or cannot be contained: it would not start next time either. */
function cannotStart(error: unknown): GivenUp {
  const hint = error instanceof ToolFailure && error.hint !== undefined ? ` ${error.hint}` : "";
  return new GivenUp(`could not be started: ${messageOf(error)}.${hint}`);
}

/** Returns the promise, whose rejection may be left unhandled. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
