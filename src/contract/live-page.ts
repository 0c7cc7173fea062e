import type { CallId, ThreadId } from "./identity.ts";

/** What a thread's browser shows, at one moment. */
export interface PageView {
  readonly url: string;
  /** A JPEG, in base64. Absent if the page looks as in the view before. */
  readonly picture?: string;
  /** The size of the part of the page that is shown, in CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** Whether a person has the page, so that `use` works and the agent's actions wait. */
  readonly taken: boolean;
}

/** What a person does in a page. Positions are in CSS pixels, from the top left of what is shown. */
export type PageInput =
  /** A button of the mouse, and its way. `clicks`: 2 for the second click of a double one. */
  | { readonly type: "down" | "up" | "move"; readonly x: number; readonly y: number; readonly clicks?: number }
  /** The wheel, by so many pixels. */
  | { readonly type: "wheel"; readonly x: number; readonly y: number; readonly dx: number; readonly dy: number }
  /** Text for the field with the focus. */
  | { readonly type: "text"; readonly text: string }
  /** A key, with the keys that are held: `Enter`, `Shift+Tab`, `Control+a`. */
  | { readonly type: "key"; readonly key: string };

/** The pages that the browsers of threads show, for people. */
export interface LivePages {
  /**
   * Yields what the browser of a thread shows, whenever that changes, until the signal fires or the browser is closed.
   * `undefined` when the thread has no open browser. Pictures are taken only meanwhile.
   */
  watch(thread: ThreadId, signal: AbortSignal): Promise<AsyncIterable<PageView> | undefined>;
  /**
   * Lets a person use the page, as a call in the thread: after the running action, and until its question is answered,
   * or until nobody has watched for a minute. The actions of the agent wait until then.
   */
  takeOver(thread: ThreadId): CallId;
  /** Does what a person does. Rejects with a `ToolFailure` unless a person has the page. Nothing of it is recorded. */
  use(thread: ThreadId, inputs: readonly PageInput[]): Promise<void>;
}
