import { setMaxListeners } from "node:events";

/**
 * Calls the listener once, when the signal fires, or at once when it has fired. Returns what takes it away again. Any number may listen to one signal: calls
 * that run side by side share one, and Node would warn of a leak from the eleventh on.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  setMaxListeners(0, signal);
  signal.addEventListener("abort", listener, { once: true });
  return () => signal.removeEventListener("abort", listener);
}

/**
 * Settles like `work`, or rejects with the signal's reason as soon as it fires, whichever comes first. The work itself goes on:
 * whoever started it has to end it.
 */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const release = onAbort(signal, () => reject(reasonOf(signal)));
    work.then(resolve, reject).finally(release);
  });
}

/**
 * Resolves after the time, or at once when the signal fires. Never rejects. Keeps the process alive, unless told not to: who waits has
 * something left to do, such as ending processes that would otherwise outlive us.
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

function reasonOf(signal: AbortSignal): Error {
  return signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));
}

/** A signal that fires with any of the signals, or when `abort` is called; `unlink` lets go of all. (`AbortSignal.any` would be held by the long-lived ones.) */
export function linkedTo(signals: readonly AbortSignal[]): {
  readonly signal: AbortSignal;
  abort(reason: Error): void;
  unlink(): void;
} {
  const controller = new AbortController();
  setMaxListeners(0, controller.signal);
  const releases = signals.map((signal) => onAbort(signal, () => controller.abort(signal.reason)));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => releases.forEach((release) => release()),
  };
}
