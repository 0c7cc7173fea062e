import { setMaxListeners } from "node:events";

/**
 * Calls the listener once, when the signal fires, or at once if it has fired. Returns a function that removes the
 * listener. Any number may listen to one signal: simultaneous calls share one, and Node would warn of a leak from the
 * eleventh on.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
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
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const release = onAbort(signal, () => reject(reasonOf(signal)));
    work.then(resolve, reject).finally(release);
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

/** Resolves to the result of the work, or to `undefined` if it takes longer. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T | undefined> {
  const over = new AbortController();
  try {
    return await Promise.race([work, pause(milliseconds, over.signal).then(() => undefined)]);
  } finally {
    over.abort();
  }
}

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/**
 * Returns a signal that fires when any of the signals fires or `abort` is called. `unlink` removes the listeners.
 * (`AbortSignal.any` would be kept in memory by long-lived signals.)
 */
export function linkedTo(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  unlink(): void;
} {
  const controller = new AbortController();
  const releases = signals.map((signal) => onAbort(signal, () => controller.abort(signal.reason)));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => releases.forEach((release) => release()),
  };
}
