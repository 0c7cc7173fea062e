import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useAction } from "../state/action.ts";
import { isConnected } from "../state/model.ts";
import { Problem } from "./row.tsx";

interface ConfirmProps {
  /** The action, such as "Forget". */
  readonly word: string;
  /** The object, for screen readers: "the memory deploys". */
  readonly what: string;
  /** Rejects with an error whose message is shown. */
  readonly act: () => Promise<unknown>;
}

/** A button for an action that cannot be undone. Asks for confirmation in place; Esc cancels. */
export function Confirm({ word, what, act }: ConfirmProps) {
  const asks = useSignal(false);
  const { failure, isBusy, attempt } = useAction();
  const first = useRef<HTMLButtonElement>(null);
  const keep = useRef<HTMLButtonElement>(null);
  const wasAsked = useRef(false);
  useEffect(() => {
    // Focuses the safe answer, so that pressing Enter twice removes nothing.
    if (asks.value) keep.current?.focus();
    else if (wasAsked.current) first.current?.focus();
    wasAsked.current = asks.value;
  }, [asks.value]);
  const run = async () => {
    await attempt(act);
    if (failure.value !== "") asks.value = false;
  };
  if (!asks.value) {
    return (
      <span class="confirm flex">
        <Problem text={failure.value} />
        <button
          class="btn"
          ref={first}
          disabled={!isConnected.value}
          aria-label={`${word} ${what}`}
          onClick={() => (asks.value = true)}
        >
          {word}
        </button>
      </span>
    );
  }
  return (
    <span
      class="confirm flex"
      role="group"
      aria-label={`${word} ${what}?`}
      onKeyDown={({ key }) => key === "Escape" && (asks.value = false)}
    >
      <button class="btn danger" disabled={isBusy.value || !isConnected.value} onClick={() => void run()}>
        {word} it
      </button>
      {/* Takes the place of the first button, so that a double click removes nothing. */}
      <button class="btn" ref={keep} disabled={isBusy.value} onClick={() => (asks.value = false)}>
        Keep
      </button>
    </span>
  );
}
