import type { ComponentChildren } from "preact";
import type { Action } from "../state/action.ts";
import { isConnected } from "../state/model.ts";
import { safeText } from "../text/safe.tsx";

/** Why something failed, if it did. */
export function Problem({ text }: { readonly text: string }) {
  if (text === "") return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** What a list shows when it is empty. */
export function Nothing({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="void">
      <h2>{title}</h2>
      <p>{children}</p>
    </div>
  );
}

/** The facts of a row, in one line. */
export function Facts({ of }: { readonly of: readonly ComponentChildren[] }) {
  return (
    <p class="facts-line meta num">
      {of.map((fact, index) => (
        <span key={index}>{fact}</span>
      ))}
    </p>
  );
}

interface ActionButtonProps {
  readonly action: Action;
  readonly label: string;
  /** The name of what it acts on, for screen readers. */
  readonly on: string;
  readonly work: () => Promise<unknown>;
}

/** A button of a row. It waits for its action, and for the connection. */
export function ActionButton({ action, label, on, work }: ActionButtonProps) {
  return (
    <button
      class="btn"
      disabled={action.isBusy.value || !isConnected.value}
      aria-label={`${label} ${safeText(on)}`}
      onClick={() => void action.attempt(work)}
    >
      {label}
    </button>
  );
}
