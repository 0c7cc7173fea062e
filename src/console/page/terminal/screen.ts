import { type Signal, signal } from "@preact/signals";
import { send } from "../state/api.ts";

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
  let source: EventSource | undefined;

  const explain = async () => {
    const controller = new AbortController();
    try {
      await send("/api/terminal", { signal: controller.signal });
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error);
    }
    controller.abort();
  };

  return {
    ...{ screen, failure },
    watch() {
      if (source !== undefined) return;
      const opened = new EventSource("/api/terminal");
      source = opened;
      opened.addEventListener("message", ({ data }: MessageEvent<string>) => {
        failure.value = "";
        screen.value = JSON.parse(data) as Screen;
      });
      opened.addEventListener("error", () => {
        if (opened.readyState !== EventSource.CLOSED) return; // EventSource reconnects by itself
        if (source === opened) source = undefined;
        void explain();
      });
    },
    pause() {
      source?.close();
      source = undefined;
    },
  };
}
