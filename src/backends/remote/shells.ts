import { ToolFailure, Unreachable } from "../../contract/failure.ts";
import { pause } from "../../util/abort.ts";
import { createPool } from "./pool.ts";
import type { Transport } from "./transport.ts";
import { type Answer, LineLost, type Shell, speakWith } from "./shell.ts";

/** A lost connection is tried again after so long, each time: about 15 s in all. Milliseconds. */
const BACK_OFF_MS: readonly number[] = [0, 500, 1_000, 2_000, 4_000, 8_000];

/** No attempt to open it is begun so long after the first: each may take seconds itself. Milliseconds. */
const LAST_ATTEMPT_MS = 15_000;

/** Who asks so soon after it could not be opened is told the same; a call asks several times. Milliseconds. */
const SAME_MOMENT_MS = 100;

export interface ShellsOptions {
  readonly transport: Transport;
  /** What is defined in every shell. It is asked for at each opening. */
  readonly preamble: () => string;
  /** Milliseconds before each attempt to open a lost connection again. */
  readonly backOffMs?: readonly number[];
  /** The connection has been lost. */
  readonly lost?: () => void;
  /** The connection is open again: asked before anybody else may use it. */
  readonly reopened?: (first: Shell) => Promise<void>;
}

/** The shells of one backend: one that is always there for what is quick, and others for what takes long. */
export interface Shells {
  /**
   * Asks the first shell. Where the connection was lost it is opened again; what was being asked then is asked once more, unless that could do harm.
   *
   * @throws ToolFailure when there is no connection, and when it was lost in the middle of what is not asked again.
   */
  ask(script: string, options?: AskOptions): Promise<Answer>;
  /** The same on a shell of its own: for what takes long, or has much to send or to bring. */
  askAside(script: string, options?: AskOptions): Promise<Answer>;
  /** A shell for as long as it is needed. Waits while too many are in use (`Pool.take`). Who takes it gives it back. Fails like `ask`. */
  take(): Promise<Shell>;
  giveBack(shell: Shell): void;
  /**
   * Resolves when something is asked of the first shell, and from now on nothing has been answered for 4 s; at once when that was so before and nothing was answered since.
   * Resolves when the signal fires, too. Never rejects.
   */
  silence(signal: AbortSignal): Promise<void>;
  /** Ends all of them, and the connection, within about 2 s. Never rejects. */
  close(): Promise<void>;
}

export interface AskOptions {
  /** What the script reads from its stdin: exactly these bytes, and no end behind them. */
  readonly input?: Uint8Array;
  /** Asked at each attempt for what takes all that is written, as it comes, from the beginning. Default: it is gathered in the answer. */
  readonly heard?: () => (chunk: Buffer) => void;
  /** True: it runs in the shell itself, as `AskInput.stays` says. Only of use with `ask`. Default false. */
  readonly stays?: boolean;
  /** False: after a lost connection it is not asked again, since nobody knows what was done. Default true. */
  readonly again?: boolean;
  /** What is being done, for the message of such a loss: "removing /a/b". */
  readonly doing?: string;
}

/** Opens the connection. Fails like `Shells.ask`. */
export async function openShells({
  transport,
  preamble,
  backOffMs = BACK_OFF_MS,
  lost,
  reopened,
}: ShellsOptions): Promise<Shells> {
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  let first: Promise<Shell> | undefined;
  /** The last time that it could not be opened. */
  let failed: { readonly problem: unknown; readonly atMs: number } | undefined;
  /** What `first` has become. */
  let live: Shell | undefined;
  /** When something that was asked was last answered, and whether that was given up since. */
  let answeredMs = 0;
  let isSilent = false;

  const open = async (which: "first" | "further"): Promise<Shell> => {
    const line = await transport.open(which);
    try {
      return await speakWith(line, preamble());
    } catch (error) {
      line.kill();
      throw await explained(error);
    }
  };
  const explained = async (error: unknown) => (error instanceof LineLost ? transport.explain(error.end) : error);

  /** Opens the first shell, which is the connection, and sees when it goes. */
  const connect = async (): Promise<Shell> => {
    const shell = await open("first");
    void shell.ended.then(() => {
      forgetEnded();
      pool.drop();
      if (!closing.signal.aborted) lost?.();
    });
    return shell;
  };

  const connectAgain = async (): Promise<Shell> => {
    const shell = await connect();
    try {
      if (reopened !== undefined) await answerOf(shell, reopened(shell));
      isSilent = false;
      return shell;
    } catch (error) {
      shell.kill();
      throw await explained(error);
    }
  };

  const reconnect = async (): Promise<Shell> => {
    let problem: unknown;
    const beganMs = performance.now();
    for (const wait of backOffMs) {
      if (performance.now() - beganMs > LAST_ATTEMPT_MS) break;
      await pause(wait, closing.signal);
      requireOpen();
      try {
        return await connectAgain();
      } catch (error) {
        requireOpen();
        problem = error;
        if (error instanceof Unreachable && !error.mayPass) break;
      }
    }
    throw problem;
  };

  const connection = async (): Promise<Shell> => {
    requireOpen();
    forgetEnded();
    if (failed !== undefined && performance.now() - failed.atMs < SAME_MOMENT_MS) throw failed.problem;
    first ??= reconnect().then(
      (shell) => (live = shell),
      (problem: unknown) => {
        first = undefined; // the next who asks tries again
        failed = { problem, atMs: performance.now() };
        throw problem;
      },
    );
    return first;
  };

  /** Who was answered by its end may ask before all others have heard of it. */
  const forgetEnded = () => {
    if (live === undefined || live.isUsable) return;
    live = undefined;
    first = undefined;
  };

  /** Resolves when a shell has ended and it shows whether all have: the first may be heard of last. */
  const connectionKnown = async () => {
    await Promise.race([live?.ended, pause(LAST_HEARD_MS)]);
  };

  const requireOpen = () => {
    if (closing.signal.aborted) throw closedFailure();
  };

  /** Asks a shell; once more when its line was lost and that can do no harm. */
  const askOf = async (
    get: () => Promise<Shell>,
    release: (shell: Shell) => void,
    script: string,
    { input, heard, stays = false, again = true, doing = "what was asked" }: AskOptions,
  ): Promise<Answer> => {
    for (let attempt = 0; ; attempt++) {
      const shell = await get();
      try {
        const answer = await answerOf(
          shell,
          shell.ask(script, {
            ...(input === undefined ? { stays } : { input }),
            ...(heard !== undefined && { heard: heard() }),
          }),
        );
        answeredMs = performance.now();
        isSilent = false;
        return answer;
      } catch (error) {
        if (!(error instanceof LineLost)) throw error;
        requireOpen();
        if (attempt === 0 && (again || error.unsent)) {
          await connectionKnown();
          continue;
        }
        const { message, hint } = await transport.explain(error.end);
        const details = { ...(hint !== undefined && { hint }), cause: error };
        if (again) throw new Unreachable(message, { mayPass: true, ...details });
        throw new ToolFailure(`${doing} may or may not have been done: ${message}`, details);
      } finally {
        release(shell);
      }
    }
  };

  /** An answer; when nobody there can give it, the connection is ended from here, and the next who asks is told why. */
  const answerOf = async <T>(shell: Shell, answer: Promise<T>): Promise<T> => {
    if (transport.isFrozen === undefined) return answer;
    const answered = new AbortController();
    const look = async () => {
      while (!answered.signal.aborted) {
        await pause(LOOK_MS, answered.signal);
        if (answered.signal.aborted || !(await transport.isFrozen?.())) continue;
        shell.kill();
        live?.kill();
      }
    };
    void look();
    return answer.finally(() => answered.abort());
  };

  const further = async (): Promise<Shell> => {
    for (let attempt = 0; ; attempt++) {
      const control = await connection();
      try {
        return await open("further");
      } catch (error) {
        // The connection went at this very moment: nothing has been done yet.
        await connectionKnown();
        if (attempt > 0 || control.isUsable || !(error instanceof Unreachable)) throw error;
      }
    }
  };
  const pool = createPool({ place: transport.place, open: further, isConnected: () => live?.isUsable === true });
  const { take, giveBack } = pool;

  const close = async () => {
    closing.abort();
    pool.close(closedFailure());
    if (live?.isUsable === true) {
      live.end();
      const wait = live.owesAnswer ? OWING_MS : CLOSING_MS;
      await Promise.race([live.ended, pause(wait, undefined, { keepsAlive: false })]); // the line itself keeps us alive
    }
    await transport.close();
  };

  first = connect().then((shell) => (live = shell));
  await first;

  return {
    ask: (script, options = {}) => askOf(connection, () => undefined, script, options),
    askAside: (script, options = {}) => askOf(take, giveBack, script, options),
    take,
    giveBack,
    async silence(signal) {
      const sinceMs = performance.now();
      while (!isSilent && !signal.aborted) {
        const left = SILENT_MS - (performance.now() - Math.max(sinceMs, answeredMs));
        if (left <= 0 && live?.owesAnswer !== false) isSilent = true;
        else await pause(LAST_HEARD_MS, signal); // another may find out sooner
      }
    },
    close() {
      closed ??= close();
      return closed;
    },
  };
}

function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed: nothing can be done through it any more");
}

/** It is looked whether anybody there can answer each time that so long has gone by without an answer. Milliseconds. */
const LOOK_MS = 5_000;

/** A host that owes an answer for so long may be gone; who only wants to end things there need not wait until that is sure. Milliseconds. */
const SILENT_MS = 4_000;

/** The ends of shells that end together are heard of within so long. */
const LAST_HEARD_MS = 250;

/** A connection that does not end by itself is cut after so long; one on which an answer is missing already, sooner. Milliseconds. */
const CLOSING_MS = 2_000;
const OWING_MS = 250;
