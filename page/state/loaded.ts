import { messageOf } from "../../src/core/util/errors.ts";
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

/** Something loaded from the server. */
export interface Loaded<T> {
  /** `undefined` until the value is loaded. Kept while it is loaded again. */
  readonly value: Signal<T | undefined>;
  /** Why the last request failed; "" if it succeeded. */
  readonly failure: Signal<string>;
  readonly isLoading: Signal<boolean>;
  /** Loads the value again. Of several concurrent requests, only the last counts. */
  reload(): void;
}

/** Loads something when the component first renders, and again whenever `dependencies` change. */
export function useLoaded<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[] = [],
): Loaded<T> {
  const value = useSignal<T | undefined>(undefined);
  const failure = useSignal("");
  const isLoading = useSignal(true);
  const current = useRef<AbortController>(undefined);
  const run = async () => {
    current.current?.abort();
    const controller = new AbortController();
    current.current = controller;
    isLoading.value = true;
    try {
      const loaded = await load(controller.signal);
      if (controller.signal.aborted) return;
      value.value = loaded;
      failure.value = "";
    } catch (error) {
      if (controller.signal.aborted) return;
      failure.value = messageOf(error);
    }
    isLoading.value = false;
  };
  useEffect(() => {
    void run();
    return () => current.current?.abort();
  }, dependencies);
  return { value, failure, isLoading, reload: () => void run() };
}
