/** A signal that several can wait for. */
export interface Wake {
  resolve(): void;
  /** Resolves when it is given or the abort signal fires. Leaves no listener behind. */
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
