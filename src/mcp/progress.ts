import { stripVTControlCharacters } from "node:util";
import type { ActivityEvent, CallUpdate } from "../contract/activity.ts";
import { oneLine } from "../output/terminal-text.ts";

/** In characters. */
const MAX_MESSAGE = 200;
/** Of a line that has not ended yet; a line that is longer shows its end. In characters. */
const MAX_UNFINISHED = 4_096;

/** One notifications/progress, without its token. Resolves when it is on its way; may reject. */
export type SendProgress = (progress: number, message: string | undefined) => Promise<void>;

/** Tells a client how a call is getting on, over whichever of its requests is open. */
export interface CallProgress {
  /** Takes an event of the call. Never throws. */
  watch(event: ActivityEvent): void;
  /** From now on the client is told with `send`. */
  tellWith(send: SendProgress): void;
  /** Resolves when what there is has been told; nothing is told after that, until the next `tellWith`. Never rejects. */
  finish(): Promise<void>;
}

/**
 * Progress of one call: counts up with each update. Told in order, one at a time; of updates that come faster than the client
 * takes them it is told the newest.
 */
export function createProgress(): CallProgress {
  const lastLine = lastLines();
  let send: SendProgress | undefined;
  let untold: { readonly message: string | undefined } | undefined;
  let telling: Promise<void> | undefined;
  let count = 0;

  const tell = async () => {
    while (untold !== undefined && send !== undefined) {
      const { message } = untold;
      untold = undefined;
      count += 1;
      await send(count, message).catch(() => undefined); // a client that is gone needs no progress
    }
    telling = undefined;
  };

  return {
    watch(event) {
      if (event.type !== "call.updated") return;
      const message = messageOf(event.update, lastLine);
      if (send === undefined) return;
      untold = { message };
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

/** Gives, for each piece of a live output, the last line so far that is not blank. Pieces may end in the middle of a line. */
function lastLines(): (output: string) => string | undefined {
  let unfinished = "";
  return (output) => {
    // A carriage return alone starts a line over, as progress bars do: what stood there before is gone.
    const lines = (unfinished + output).split(/\r\n|\r|\n/);
    unfinished = (lines.at(-1) ?? "").slice(-MAX_UNFINISHED);
    return lines.findLast((line) => stripVTControlCharacters(line).trim() !== "")?.trim();
  };
}
