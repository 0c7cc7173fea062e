import type { PortAddress } from "../../../core/contract/backend.ts";
import type { Content } from "../../../core/contract/content.ts";
import type { FormInput } from "../../../core/contract/decision.ts";
import type { Effect } from "../../../core/contract/effect.ts";
import type { ThreadId } from "../../../core/contract/identity.ts";
import type { LivePages } from "../../../core/contract/live-page.ts";

/** One Chromium with a context for each thread. It is not started before it is used. */
export interface Browsers extends Pick<LivePages, "watch" | "use"> {
  /**
   * Does an action in the thread's browser, after the thread's earlier actions. Rejects with a `ToolFailure` when there
   * is no browser, for arguments that do not fit, an unknown element, and a page that does not react in time.
   */
  act(thread: ThreadId, action: ActionName, input: ActionInput, by: ActionCaller): Promise<ActionReport>;
  /**
   * Gives the open page to a person, after the thread's earlier actions, and asks `by` until the person hands the page
   * back. Rejects with a `ToolFailure` when there is no open page.
   */
  takeOver(thread: ThreadId, by: Caller): Promise<void>;
  /** Resolves when nobody has watched the thread's page for a minute, or the signal fires. */
  untilUnwatched(thread: ThreadId, signal: AbortSignal): Promise<void>;
  /** Closes everything. */
  close(): Promise<void>;
}

/** The user's settings of the browser. */
export interface BrowserSettings {
  /** Whether the window is shown. Default false. */
  readonly headed?: boolean;
  /** The program to start. Default: the first Chromium or Chrome that is found. */
  readonly executablePath?: string;
  /** The name of a profile, which keeps logins: letters, digits, `-` and `_`. Default: nothing is kept. */
  readonly profile?: string;
  /**
   * The address of a running browser to join, such as `http://127.0.0.1:9222`. That browser is not contained, and its
   * logins are used. Default: Handrail starts a browser.
   */
  readonly cdp?: string;
}

/** What an action needs from the call that makes it. */
export interface Caller {
  readonly signal: AbortSignal;
  permit(effect: Effect): Promise<FormInput | undefined>;
  /** Reports links of a page that the model is shown (`ToolContext.linked`). */
  linked(page: string, links: readonly string[]): void;
  /** Tells people what the call is doing. */
  tell(words: string): void;
  /** Saves a text or a file. Resolves to the id of the saved output. */
  save(content: string | Uint8Array): Promise<string>;
}

/** A page after an action, for a model. */
export interface PageReport {
  readonly url: string;
  readonly title: string;
  /** The snapshot, or what has changed in it. Absent when the action did not ask for it. */
  readonly page?: string;
  readonly shows: "page" | "changes" | "nothing";
  /** The id of the saved output with the whole snapshot, if `page` is not all of it. */
  readonly output?: string;
  /** What has happened since the last action. */
  readonly news: readonly string[];
}

/** A file that is uploaded. */
export interface UploadFile {
  readonly name: string;
  readonly mimeType: string;
  readonly buffer: Buffer;
}

/** The call that makes an action. */
export interface ActionCaller extends Caller {
  /** Reads a file of the call's target. */
  readFile(path: string): Promise<UploadFile>;
  /** Returns where a port of a job of the thread is reached (`ToolJobs.reachPort`). Also works after the call. */
  reachPort(port: number): Promise<PortAddress | undefined>;
}

/** The result of an action: the page after it, and a text or picture of the action itself. */
export interface ActionReport extends Partial<PageReport> {
  readonly text?: string;
  /** The saved output with the whole text, if `text` is not all of it. */
  readonly textOutput?: string;
  readonly picture?: Content;
}

/** The arguments of an action. `ACTIONS` has which arguments each action takes. */
export interface ActionInput {
  readonly url?: string;
  readonly ref?: string;
  readonly text?: string;
  readonly key?: string;
  readonly values?: readonly string[];
  readonly paths?: readonly string[];
  readonly script?: string;
  readonly direction?: "up" | "down" | "top" | "bottom";
  readonly seconds?: number;
  readonly gone?: boolean;
  readonly person?: string;
  readonly submit?: boolean;
  readonly tab?: number;
  readonly dialog?: "accept" | "dismiss";
}

/** The maximum number of bytes of a snapshot, of its changes, or of a page's text, that a model reads. */
export const SNAPSHOT_BYTES = 8_192;

/** How many bytes of a longer snapshot a model reads. The model searches the rest, so more bytes would seldom help. */
export const BEGINNING_BYTES = 1_024;

type Argument = keyof ActionInput;

interface ActionArguments {
  /** The arguments that the action must have: all arguments of one of these lists. */
  readonly needs: readonly (readonly Argument[])[];
  /** Arguments that the action may have besides. */
  readonly may?: readonly Argument[];
  /** Whether the action acts on the page. Otherwise it only looks. */
  readonly acts?: true;
}

/** Every action of the tool `browser`, with its arguments. */
export const ACTIONS = {
  open: { needs: [["url"]], may: ["dialog"] },
  snapshot: { needs: [[]] },
  click: { needs: [["ref"]], may: ["dialog", "text"], acts: true },
  type: { needs: [["ref", "text"]], may: ["submit", "dialog"], acts: true },
  press: { needs: [["key"]], may: ["ref", "dialog"], acts: true },
  select: { needs: [["ref", "values"]], may: ["dialog"], acts: true },
  hover: { needs: [["ref"]] },
  scroll: { needs: [[]], may: ["ref", "direction"] },
  wait: { needs: [["text"], ["seconds"], ["person"]], may: ["gone"] },
  text: { needs: [[]], may: ["ref"] },
  find: { needs: [["text"]] },
  screenshot: { needs: [[]], may: ["ref"] },
  upload: { needs: [["ref", "paths"]], may: ["dialog"], acts: true },
  back: { needs: [[]], may: ["dialog"] },
  tabs: { needs: [[]], may: ["tab"] },
  console: { needs: [[]] },
  network: { needs: [[]] },
  evaluate: { needs: [["script"]], may: ["ref", "dialog"], acts: true },
  close: { needs: [[]], may: ["tab"] },
} as const satisfies { readonly [name: string]: ActionArguments };

export type ActionName = keyof typeof ACTIONS;

export const ACTION_NAMES = Object.keys(ACTIONS) as readonly ActionName[];

/** An action with its arguments, for a model: "type ref text [submit]". */
export function usageOf(name: ActionName): string {
  const { needs, may = [] }: ActionArguments = ACTIONS[name];
  const shown = may.filter((each) => each !== "dialog").map((each) => `[${each}]`);
  return [name, needs.map((list) => list.join(" ")).join("|"), ...shown].filter(Boolean).join(" ");
}

/** Returns what is wrong with an action's arguments, and which it takes; `undefined` when they are right. */
export function argumentFault(name: ActionName, given: ActionInput): string | undefined {
  const { needs, may = [] }: ActionArguments = ACTIONS[name];
  const has = (Object.keys(given) as readonly Argument[]).filter((key) => given[key] !== undefined);
  const known = new Set<Argument>([...needs.flat(), ...may]);
  const isComplete = needs.some((list) => list.every((key) => has.includes(key)));
  if (isComplete && has.every((key) => known.has(key))) return undefined;
  const required = needs.map((list) => list.join(" and ") || "nothing").join(", or ");
  const optional = may.length === 0 ? "" : ` (optional: ${may.join(", ")})`;
  return `action ${name}: expected ${required}${optional}, got ${has.join(", ") || "nothing"}`;
}

/** Whether a URL leads to this machine, where the thread's jobs listen. */
export function isLoopback(url: string): boolean {
  return URL.canParse(url) && /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(new URL(url).hostname);
}
