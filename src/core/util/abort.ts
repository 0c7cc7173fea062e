import { setMaxListeners } from "node:events";

/**
 * Stops one piece of work, such as a call. It is an `AbortController` and its signal in one, without the cost of
 * either: `signal` is made at the first use, and most calls end before.
 */
export class Stop {
  aborted = false;
  reason: unknown = undefined;
  readonly #above: readonly (() => void)[];
  readonly #listeners: (() => void)[] = [];
  #controller: AbortController | undefined;

  /**
   * @param above Each of them stops this one too. (`AbortSignal.any` would be kept in memory by long-lived signals.)
   */
  constructor(...above: readonly (AbortSignal | Stop)[]) {
    this.#above = above.map((signal) => onAbort(signal, () => this.abort(signal.reason)));
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** Does nothing when this was stopped before. */
  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    for (let next = this.#listeners.shift(); next !== undefined; next = this.#listeners.shift()) next();
  }

  /** Stops listening to the signals above: the work has ended. */
  unlink(): void {
    for (const release of this.#above) release();
  }

  /** Calls the listener once, when this is stopped. Returns a function that removes it. */
  onAbort(listener: () => void): () => void {
    if (!this.aborted) this.#listeners.push(listener);
    return () => {
      const at = this.#listeners.lastIndexOf(listener);
      if (at !== -1) this.#listeners.splice(at, 1);
    };
  }
}

/**
 * Calls the listener once, when the signal fires, or at once if it has fired. Returns a function that removes the
 * listener. One signal may have any number of listeners: simultaneous calls share a signal, and Node would warn of a
 * leak from the eleventh listener on.
 */
export function onAbort(signal: AbortSignal | Stop, listener: () => void): () => void {
  if (signal.aborted) listener();
  if (signal instanceof Stop) return signal.onAbort(listener);
  if (!unlimited.has(signal)) allowManyListeners(signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/** Signals without a limit. Asking costs less than `setMaxListeners`, which every call would run several times. */
const unlimited = new WeakSet<AbortSignal>();

function allowManyListeners(signal: AbortSignal): void {
  setMaxListeners(0, signal);
  unlimited.add(signal);
}

/**
 * Settles like `work`, or rejects with the signal's reason as soon as it fires, whichever comes first. The work itself
 * continues: the caller ends it.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | Stop): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const release = onAbort(signal, () => reject(reasonOf(signal)));
    work.then(
      (value) => {
        release();
        resolve(value);
      },
      (error: unknown) => {
        release();
        reject(error);
      },
    );
  });
}

/**
 * Resolves after the time, or at once when the signal fires. Never rejects. Keeps the process alive by default: the
 * caller has something left to do, such as ending processes.
 */
export function pause(
  milliseconds: number,
  signal?: AbortSignal,
  { keepsAlive = true }: { readonly keepsAlive?: boolean } = {},
): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      release?.();
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    if (!keepsAlive) timer.unref();
    const release = signal === undefined ? undefined : onAbort(signal, done);
  });
}

/** Resolves to the result of the work, or to `undefined` if the work takes longer. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([work, pause(milliseconds, over.signal).then(() => undefined)]);
  } finally {
    over.abort();
  }
}

function reasonOf(signal: AbortSignal | Stop): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}
