import { onAbort } from "./abort.ts";

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
        const release = onAbort(signal, resolve);
        void promise.then(() => {
          release();
          resolve();
        });
      });
    },
  };
}
