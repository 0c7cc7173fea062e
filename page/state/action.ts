import { messageOf } from "../../src/core/util/errors.ts";
import { type Signal, useSignal } from "@preact/signals";

/** What buttons of a page do, and why the last one failed. */
export interface Action {
  /** "" while nothing has failed. */
  readonly failure: Signal<string>;
  readonly isBusy: Signal<boolean>;
  /** Performs the work. Never rejects: `failure` has the reason. */
  attempt(work: () => Promise<unknown>): Promise<void>;
}

export function useAction(): Action {
  const failure = useSignal("");
  const isBusy = useSignal(false);
  return {
    ...{ failure, isBusy },
    async attempt(work) {
      [failure.value, isBusy.value] = ["", true];
      try {
        await work();
      } catch (error) {
        failure.value = messageOf(error);
      }
      isBusy.value = false;
    },
  };
}
