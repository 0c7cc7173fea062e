/** Returns a promise and the function that resolves it. */
export function later<T = void>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve: (value) => resolve(value) };
}

/** Resolves to whether the promise was fulfilled. */
export const isFulfilled = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );

/**
 * Runs the work at the first call, and shares its result with all later calls. After a failure, the next call runs it
 * again.
 */
export function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

/** A repeatable event that several callers can await: `next` resolves at the next `ring`. */
export function bell(): { next(): Promise<void>; ring(): void } {
  let waiting: (() => void)[] = [];
  return {
    next: () => new Promise<void>((wakeUp) => waiting.push(wakeUp)),
    ring() {
      const woken = waiting;
      waiting = [];
      for (const wakeUp of woken) wakeUp();
    },
  };
}
