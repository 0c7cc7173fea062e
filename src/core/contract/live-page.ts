import type { CallId, ThreadId } from "./identity.ts";

/** What a thread's browser shows, at one moment. */
export interface PageView {
  readonly url: string;
  /** A JPEG, in base64. Absent if the page looks as it did in the view before. */
  readonly picture?: string;
  /** The size of the part of the page that is shown, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** Whether a person has taken the page: then `use` works and the agent's actions wait. */
  readonly taken: boolean;
}

/** What a person does in a page. Positions are in CSS pixels, from the top left of what is shown. */
export type PageInput =
  /** A mouse button, pressed or released. `clicks`: 2 for the second click of a double click. */
  | { readonly type: "down" | "up" | "move"; readonly x: number; readonly y: number; readonly clicks?: number }
  /** The wheel is turned by this many pixels. */
  | { readonly type: "wheel"; readonly x: number; readonly y: number; readonly dx: number; readonly dy: number }
  /** Text for the field that has the focus. */
  | { readonly type: "text"; readonly text: string }
  /** A key, with the keys that are held down: `Enter`, `Shift+Tab`, `Control+a`. */
  | { readonly type: "key"; readonly key: string };

/** The pages that the browsers of threads show, for people. */
export interface LivePages {
  /**
   * Yields what the browser of a thread shows, whenever the picture changes, until the signal fires or the browser is
   * closed. Returns `undefined` when the thread has no open browser. Pictures are taken only while somebody watches.
   */
  watch(thread: ThreadId, signal: AbortSignal): Promise<AsyncIterable<PageView> | undefined>;
  /**
   * Lets a person use the page, as a call in the thread. It begins after the running action, and lasts until the call's
   * question is answered, or nobody has watched for a minute. Until then, the agent's actions wait.
   */
  takeOver(thread: ThreadId): CallId;
  /** Does what a person does. Rejects with a `ToolFailure` unless a person has the page. Nothing of it is recorded. */
  use(thread: ThreadId, inputs: readonly PageInput[]): Promise<void>;
}
