import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Loaded } from "../state/loaded.ts";

/** Shows after 300 ms that something is loading, or why it could not be loaded. */
export function Waiting({ of, words }: { readonly of: Loaded<unknown>; readonly words: string }) {
  const isSlow = useSignal(false);
  useEffect(() => {
    const timer = setTimeout(() => (isSlow.value = true), 300);
    return () => clearTimeout(timer);
  }, []);
  if (of.failure.value !== "") return <Failed failure={of.failure.value} again={of.reload} />;
  if (of.value.value !== undefined || !isSlow.value) return null;
  return (
    <p class="off" role="status">
      {words}
    </p>
  );
}

interface FailedProps {
  readonly failure: string;
  readonly again: () => void;
}

/** Shows why a request failed, in place of its response. */
function Failed({ failure, again }: FailedProps) {
  return (
    <div class="failed flex" role="alert">
      <p class="problem">{failure}</p>
      <button class="btn" onClick={again}>
        Try again
      </button>
    </div>
  );
}
