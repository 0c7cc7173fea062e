import type { Progress } from "@modelcontextprotocol/client";
import type { ToolContext } from "../../core/contract/tool.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { progressOf } from "../../core/call/foreign-tool.ts";

/** The maximum duration of a call, whatever progress it makes. Milliseconds. */
const LONGEST_MS = 3_600_000;

/** The time limits of a call. */
export interface CallLimit {
  /** Fires with a `ToolFailure` when the call has taken too long. */
  readonly signal: AbortSignal;
  /**
   * Pauses the limit on time without progress while a person is asked, until the returned function is called. The limit
   * of an hour continues.
   */
  hold(): () => void;
  /** Releases the timers of the limits. */
  end(): void;
  /** Handles a report of progress: shows it to people, and restarts the limit on time without progress. */
  progressTo(context: Pick<ToolContext, "report">): (progress: Progress) => void;
}

/** Limits a call of a source: in time without progress, in milliseconds, and to an hour in total. */
export function callLimit(name: string, milliseconds: number): CallLimit {
  const controller = new AbortController();
  const stop = (after: number) => () =>
    controller.abort(new ToolFailure(`${name} has not answered within ${after / 1_000} s`));
  const longest = setTimeout(stop(LONGEST_MS), LONGEST_MS);
  let held = 0;
  let timer: NodeJS.Timeout | undefined;
  const restart = () => {
    clearTimeout(timer);
    timer = held > 0 ? undefined : setTimeout(stop(milliseconds), milliseconds);
  };
  const hold = (by: number) => {
    held += by;
    restart();
  };
  restart();
  return {
    signal: controller.signal,
    hold() {
      hold(1);
      return () => hold(-1);
    },
    end() {
      hold(Infinity); // a question to a person may still be open
      clearTimeout(longest);
    },
    progressTo(context) {
      const show = progressOf(context);
      return ({ progress, total, message }) => {
        restart();
        const counted = { done: progress, ...(total !== undefined && { total }) };
        show(message ?? (total === undefined ? String(progress) : `${progress} of ${total}`), counted);
      };
    },
  };
}
