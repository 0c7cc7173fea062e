import { stripVTControlCharacters } from "node:util";
import type { ActivityEvent, CallUpdate } from "../../core/contract/activity.ts";
import { oneLine } from "../../core/output/terminal-text.ts";

/** The maximum length of a progress message, in characters. */
const MAX_MESSAGE = 200;
/** How much is kept of an unfinished line, from its end, in characters. */
const MAX_UNFINISHED = 4_096;

/** One report: how much is done, of how much in all if that is known, and in words. */
export interface Report {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** Sends one notifications/progress; the token is added. Resolves when it was sent; may reject. */
export type SendProgress = (report: Report) => Promise<void>;

/** Reports the progress of a call to a client, over the request that is currently open. */
export interface CallProgress {
  /** Handles an event of the call. Never throws. */
  watch(event: ActivityEvent): void;
  /** Sends later reports with `send`. */
  tellWith(send: SendProgress): void;
  /** Resolves when pending reports were sent. Nothing is sent afterwards, until the next `tellWith`. Never rejects. */
  finish(): Promise<void>;
}

/**
 * Creates the progress of one call. A tool's own numbers are sent while they grow; otherwise the reports are counted.
 * Reports are sent in order, one at a time; if updates arrive faster, only the newest one is sent.
 */
export function createProgress(): CallProgress {
  const lastLine = lastLines();
  let send: SendProgress | undefined;
  let untold: Partial<Report> | undefined;
  let telling: Promise<void> | undefined;
  let last = -Infinity;
  let isCounted = true;

  /** The protocol requires that the number grows. After a number of the tool there is none of ours. */
  const numberOf = ({ progress }: Partial<Report>): number => {
    if (progress !== undefined) isCounted = false;
    return progress ?? (isCounted ? Math.max(last, 0) + 1 : last);
  };

  const tell = async () => {
    while (untold !== undefined && send !== undefined) {
      const report = untold;
      untold = undefined;
      const progress = numberOf(report);
      if (progress <= last) continue;
      last = progress;
      await send({ ...report, progress }).catch(() => undefined); // a closed connection needs no progress
    }
    telling = undefined;
  };

  return {
    watch(event) {
      if (event.type !== "call.updated") return;
      const { progress } = event.update;
      const message = messageOf(event.update, lastLine);
      if (send === undefined) return;
      untold = {
        ...(message !== undefined && { message }),
        ...(progress !== undefined && { progress: progress.done }),
        ...(progress?.total !== undefined && { total: progress.total }),
      };
      telling ??= tell();
    },
    tellWith(next) {
      send = next;
    },
    async finish() {
      await telling;
      send = undefined;
      untold = undefined;
    },
  };
}

function messageOf(
  { displayMessage, output }: CallUpdate,
  lastLine: (output: string) => string | undefined,
): string | undefined {
  const line = output === undefined ? undefined : lastLine(output);
  const message = displayMessage ?? line;
  return message === undefined ? undefined : oneLine(stripVTControlCharacters(message), MAX_MESSAGE);
}

/**
 * Returns a function that takes pieces of a live output and returns the last non-blank line of each. Pieces may end in
 * the middle of a line.
 */
function lastLines(): (output: string) => string | undefined {
  let unfinished = "";
  return (output) => {
    // A carriage return alone starts the line again, as in progress bars: the text before it is gone.
    const lines = (unfinished + output).split(/\r\n|\r|\n/);
    unfinished = (lines.at(-1) ?? "").slice(-MAX_UNFINISHED);
    return lines.findLast((line) => stripVTControlCharacters(line).trim() !== "")?.trim();
  };
}
