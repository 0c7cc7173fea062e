import { ToolFailure, Unreachable } from "../../core/contract/failure.ts";
import { pause } from "../../core/util/abort.ts";
import { shared } from "../../core/util/promises.ts";
import { createPool } from "./pool.ts";
import type { Transport } from "./transport.ts";
import { type Answer, type AskInput, LineLost, type Shell, speakWith } from "./shell.ts";

/** Pauses before each attempt to reopen a lost connection, about 15 s in all. Milliseconds. */
const BACK_OFF_MS: readonly number[] = [0, 500, 1_000, 2_000, 4_000, 8_000];

/** No further attempt starts this long after the first: each may take seconds itself. Milliseconds. */
const LAST_ATTEMPT_MS = 15_000;

/** How long a failure to connect is remembered, since one call asks several times. Milliseconds. */
const SAME_MOMENT_MS = 100;

export interface ShellsOptions {
  readonly transport: Transport;
  /** Returns the code that defines the functions of a shell. Called whenever a shell is opened. */
  readonly preamble: () => string;
  /** Milliseconds before each attempt to open a lost connection again. */
  readonly backOffMs?: readonly number[];
  /** Called when the connection is lost. */
  readonly lost?: () => void;
  /** Called when the connection is open again, before anything else uses it. */
  readonly reopened?: (first: Shell) => Promise<void>;
}

/** The shells of one backend: one that stays open for quick requests, and others for long ones. */
export interface Shells {
  /**
   * Runs a script in the first shell. Reopens a lost connection, and repeats the script if that cannot do harm.
   *
   * @throws ToolFailure when there is no connection, and when it was lost during a script that must not be repeated.
   */
  ask(script: string, options?: AskOptions): Promise<Answer>;
  /** As `ask`, in another shell: for scripts that take long or transfer much. */
  askAside(script: string, options?: AskOptions): Promise<Answer>;
  /** Acquires a shell (`Pool.take`), which the caller gives back. Rejects like `ask`. */
  take(): Promise<Shell>;
  giveBack(shell: Shell): void;
  /**
   * Resolves when the first shell owes an answer and nothing has been answered for 4 s, counted from this call.
   * Resolves at once if an earlier call found that and nothing was answered since, and when the signal fires. Never
   * rejects.
   */
  silence(signal: AbortSignal): Promise<void>;
  /** Ends all shells and the connection, within about 2 s. Never rejects. */
  close(): Promise<void>;
}

/** `stays` only for `ask`. */
export interface AskOptions extends Omit<AskInput, "heard"> {
  /** Called at each attempt; returns the function that gets the output. Default: it is collected. */
  readonly heard?: () => (chunk: Buffer) => void;
  /** False: the script is not repeated after a lost connection, since its effect is unknown. Default: true. */
  readonly again?: boolean;
  /** Describes the script in the message of such a loss: "removing /a/b". */
  readonly doing?: string;
}

/** Opens the connection. Closes the transport on failure. Rejects like `Shells.ask`. */
export async function openShells(options: ShellsOptions): Promise<Shells> {
  const { transport } = options;
  const closing = new AbortController();
  /** Time of the last answer. `isSilent`: the host was found silent since. */
  let answeredMs = 0;
  let isSilent = false;
  const connection = createConnection(options, closing.signal, {
    opened: () => (isSilent = false),
    ended: () => pool.drop(),
  });
  const { requireOpen, settled, answerOf } = connection;

  /** Runs a script in a shell, and repeats it once if its line was lost and that can do no harm. */
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
          await settled();
          continue;
        }
        const { message, hint } = await transport.explain(error.end);
        const details = { ...(hint !== undefined && { hint }), cause: error };
        if (again) throw new Unreachable(message, { mayPass: true, ...details });
        throw new ToolFailure(`${doing} may or may not have happened: ${message}`, details);
      } finally {
        release(shell);
      }
    }
  };

  const further = async (): Promise<Shell> => {
    for (let attempt = 0; ; attempt++) {
      const control = await connection.first();
      try {
        return await connection.open("further");
      } catch (error) {
        // The connection was lost at this moment: nothing has been done yet.
        await settled();
        if (attempt > 0 || control.isUsable || !(error instanceof Unreachable)) throw error;
      }
    }
  };
  const isConnected = () => connection.live?.isUsable === true;
  const pool = createPool({ place: transport.place, open: further, isConnected });
  const { take, giveBack } = pool;

  const close = shared(async () => {
    closing.abort();
    pool.close(closedFailure());
    const { live } = connection;
    if (live?.isUsable === true) {
      live.end();
      const wait = live.owesAnswer ? OWING_MS : CLOSING_MS;
      await Promise.race([live.ended, pause(wait, undefined, { keepsAlive: false })]);
    }
    await transport.close();
  });

  await connection.begin().catch(async (error: unknown) => {
    await transport.close();
    throw error;
  });

  return {
    ask: (script, asked = {}) => askOf(connection.first, () => undefined, script, asked),
    askAside: (script, asked = {}) => askOf(take, giveBack, script, asked),
    take,
    giveBack,
    async silence(signal) {
      const sinceMs = performance.now();
      while (!isSilent && !signal.aborted) {
        const left = SILENT_MS - (performance.now() - Math.max(sinceMs, answeredMs));
        if (left <= 0 && connection.live?.owesAnswer !== false) isSilent = true;
        else await pause(LAST_HEARD_MS, signal); // another caller may find out sooner
      }
    },
    close,
  };
}

/** The connection, which is its first shell. It is opened again at the first request after a loss. */
function createConnection(
  { transport, preamble, backOffMs = BACK_OFF_MS, lost, reopened }: ShellsOptions,
  closing: AbortSignal,
  on: { opened(): void; ended(): void },
) {
  let first: Promise<Shell> | undefined;
  /** The last failure to open the connection. */
  let failed: { readonly problem: unknown; readonly atMs: number } | undefined;
  /** The shell that `first` resolved to. */
  let live: Shell | undefined;

  /** @throws ToolFailure when the shells are closed. */
  const requireOpen = () => {
    if (closing.aborted) throw closedFailure();
  };
  const explained = async (error: unknown) => (error instanceof LineLost ? transport.explain(error.end) : error);
  /** Rejects with an explanation. */
  const open = async (which: "first" | "further"): Promise<Shell> => {
    const line = await transport.open(which);
    try {
      return await speakWith(line, preamble());
    } catch (error) {
      line.kill();
      throw await explained(error);
    }
  };
  /** Forgets a first shell that has ended. A caller may see that end, and ask again, before the other handlers run. */
  const forgetEnded = () => {
    if (live === undefined || live.isUsable) return;
    live = undefined;
    first = undefined;
  };
  const connect = async (): Promise<Shell> => {
    const shell = await open("first");
    void shell.ended.then(() => {
      forgetEnded();
      on.ended();
      if (!closing.aborted) lost?.();
    });
    return shell;
  };
  /** Awaits an answer. Closes the connection if the remote host is frozen; the next request reports why. */
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
  const connectAgain = async (): Promise<Shell> => {
    const shell = await connect();
    try {
      if (reopened !== undefined) await answerOf(shell, reopened(shell));
      on.opened();
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
      await pause(wait, closing);
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

  return {
    /** Opens it for the first time. Rejects as `open`. */
    async begin() {
      first = connect().then((shell) => (live = shell));
      await first;
    },
    /** Resolves to the first shell. Rejects with why there is none. */
    async first(): Promise<Shell> {
      requireOpen();
      forgetEnded();
      if (failed !== undefined && performance.now() - failed.atMs < SAME_MOMENT_MS) throw failed.problem;
      first ??= reconnect().then(
        (shell) => (live = shell),
        (problem: unknown) => {
          first = undefined; // the next request tries to open it again
          failed = { problem, atMs: performance.now() };
          throw problem;
        },
      );
      return first;
    },
    /** The first shell, while it is open. */
    get live() {
      return live;
    },
    open,
    /** After a shell's end: resolves when it is known whether the first has ended too, which may be reported last. */
    async settled() {
      await Promise.race([live?.ended, pause(LAST_HEARD_MS)]);
    },
    answerOf,
    requireOpen,
  };
}

function closedFailure(): ToolFailure {
  return new ToolFailure("the backend is closed");
}

/** How often a late answer makes us check whether the remote host is frozen. Milliseconds. */
const LOOK_MS = 5_000;

/** A host that owes an answer this long counts as silent: ending processes does not wait for it. Milliseconds. */
const SILENT_MS = 4_000;

/** The ends of shells that end together are reported within this time. Milliseconds. */
const LAST_HEARD_MS = 250;

/** How long to wait for the connection to close by itself; `OWING_MS` if it owes an answer. Milliseconds. */
const CLOSING_MS = 2_000;
const OWING_MS = 250;
