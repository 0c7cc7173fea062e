import type { CallUpdate } from "../../core/contract/activity.ts";
import type { ToolResult } from "../../core/contract/result.ts";
import { pause } from "../../core/util/abort.ts";
import { bell } from "../../core/util/promises.ts";

/** What a running call has reported so far, for people. Texts are raw: escape them for display. */
export interface CallProgress {
  readonly status: "running";
  /** One line about what the call is doing. */
  readonly message?: string;
  readonly progress?: { readonly done: number; readonly total?: number };
  /** The end of its output, at most 2,000 characters. */
  readonly output?: string;
}

/** A result that can be awaited, or iterated: then the progress of the call comes before it. */
export type ProgressingResult = Promise<ToolResult> & AsyncIterable<CallProgress | ToolResult>;

const MAX_OUTPUT = 2_000;

/** The shortest time between two reports, in milliseconds. */
const REPORT_MS = 100;

/** Makes a call at once, and returns its result with its progress. What is not read of the progress is lost. */
export function withProgress(make: (onUpdate: (update: CallUpdate) => void) => Promise<ToolResult>): ProgressingResult {
  let progress: CallProgress = { status: "running" };
  let isNew = false;
  let isOver = false;
  const news = bell();
  const result = make((update) => {
    progress = progressAfter(progress, update);
    isNew = true;
    news.ring();
  }).finally(() => {
    isOver = true;
    news.ring();
  });
  result.catch(() => undefined); // whoever has stopped to iterate need not know

  async function* reports(): AsyncGenerator<CallProgress | ToolResult> {
    while (!isOver) {
      const next = news.next();
      if (!isNew) await next;
      if (isOver) break;
      isNew = false;
      yield progress;
      await Promise.race([result, pause(REPORT_MS, undefined, { keepsAlive: false })]);
    }
    yield await result;
  }
  return Object.assign(result, { [Symbol.asyncIterator]: reports });
}

function progressAfter(before: CallProgress, { displayMessage, progress, output }: CallUpdate): CallProgress {
  const { message: _, ...others } = before;
  const message = displayMessage === undefined ? before.message : (displayMessage ?? undefined);
  return {
    ...others,
    ...(message !== undefined && { message }),
    ...(progress !== undefined && { progress }),
    ...(output !== undefined && { output: ((before.output ?? "") + output).slice(-MAX_OUTPUT) }),
  };
}
