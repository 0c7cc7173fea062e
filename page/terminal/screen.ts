import { messageOf } from "../../src/core/util/errors.ts";
import { type Signal, signal } from "@preact/signals";
import { RequestFailed, readEvents } from "../state/api.ts";

/** The content of a pane. */
export interface Screen {
  readonly pane: string;
  /** Contains colours as escape sequences. */
  readonly text: string;
  /** From 0 at the top left; absent while the cursor is hidden. */
  readonly cursor?: { readonly column: number; readonly row: number };
}

/** The screen of a pane, followed while the terminal is visible. */
export interface WatchedScreen {
  readonly screen: Signal<Screen | undefined>;
  /** Why nothing can be shown; "" if something is shown. */
  readonly failure: Signal<string>;
  /** Starts or resumes following. Does nothing while following. */
  watch(): void;
  pause(): void;
}

/** Follows the screen over one stream, which is open only between `watch` and `pause`: browsers limit connections. */
export function watchScreen(): WatchedScreen {
  const screen = signal<Screen | undefined>(undefined);
  const failure = signal("");
  let source: AbortController | undefined;

  /** Follows the screen, and continues after a lost connection. */
  const follow = async (opened: AbortController) => {
    const onEvent = (next: unknown) => {
      if (opened.signal.aborted) return;
      failure.value = "";
      screen.value = next as Screen;
    };
    try {
      await readEvents("/api/terminal", { signal: opened.signal, onEvent });
    } catch (error) {
      if (!(error instanceof RequestFailed) || error.status > 0) {
        if (opened.signal.aborted) return;
        failure.value = messageOf(error);
        if (source === opened) source = undefined;
        return;
      }
    }
    if (opened.signal.aborted) return;
    setTimeout(() => void (opened.signal.aborted || follow(opened)), RETRY_MS);
  };

  return {
    ...{ screen, failure },
    watch() {
      if (source !== undefined) return;
      source = new AbortController();
      void follow(source);
    },
    pause() {
      source?.abort();
      source = undefined;
    },
  };
}

/** The pause before connecting again, in milliseconds. */
const RETRY_MS = 1_000;
