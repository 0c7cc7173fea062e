/** Something that several wait for, once. */
export interface Wake {
  resolve(): void;
  /** Resolves when it has come or the signal fires, whichever is first; nothing is left on the signal then. */
  untilResolved(signal: AbortSignal | undefined): Promise<void>;
}

export function createWake(): Wake {
  let settle = () => {};
  const promise = new Promise<void>((resolve) => {
    settle = resolve;
  });
  return {
    resolve: () => settle(),
    untilResolved(signal) {
      if (signal === undefined) return promise;
      if (signal.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const stop = () => resolve();
        signal.addEventListener("abort", stop, { once: true });
        void promise.then(() => {
          signal.removeEventListener("abort", stop);
          resolve();
        });
      });
    },
  };
}
