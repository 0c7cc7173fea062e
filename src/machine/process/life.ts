import { constants } from "node:os";
import type { Exit } from "../../core/contract/backend.ts";

/** What a target reports about the end of a process. "code": an exit code as a shell reports it. */
export type Ended = Exit | { readonly how: "code"; readonly code: number };

/**
 * What ending a process and everything it started has achieved. "all": all has ended, or will end as soon as a silent
 * host can be reached. "left": some of it cannot be ended. "none": nothing was ended, because all had ended before or
 * is out of reach.
 */
export type Stopped = "all" | "left" | "none";

/** Something that happens to a process. */
export type LifeEvent =
  /** The process is to be ended. `as`: the exit to report; `undefined` for the real exit. */
  | { readonly is: "stop"; readonly as: Exit | undefined }
  | { readonly is: "stopped"; readonly what: Stopped }
  | { readonly is: "ended"; readonly how: Ended }
  /** The process's output was read to the end, or as far as needed while a child holds it open. */
  | { readonly is: "complete" };

/** The state of a process that was started: a fold of its events. */
export interface Life {
  readonly stop: "unasked" | "asked" | Stopped;
  readonly stoppedAs: Exit | undefined;
  readonly ended: Ended | undefined;
  readonly isComplete: boolean;
}

export const STARTED: Life = { stop: "unasked", stoppedAs: undefined, ended: undefined, isComplete: false };

/**
 * What happens to the process now. "completes": the process has ended, what it started has ended if the process was
 * stopped, and the rest of the output is read. Nothing stops the process any more.
 */
export type Phase = "runs" | "completes" | "over";

export function phaseOf({ stop, ended, isComplete }: Life): Phase {
  if (isComplete) return "over";
  // What nothing can end is not waited for.
  return stop === "left" || (ended !== undefined && stop !== "asked") ? "completes" : "runs";
}

/** Returns the life after the event. The first stop and the first end count. */
export function lived(life: Life, event: LifeEvent): Life {
  if (event.is === "complete") return { ...life, isComplete: true };
  if (phaseOf(life) !== "runs") return life;
  switch (event.is) {
    case "stop":
      return life.stop === "unasked" ? { ...life, stop: "asked", stoppedAs: event.as } : life;
    case "stopped":
      return { ...life, stop: event.what };
    case "ended":
      return { ...life, ended: life.ended ?? event.how };
  }
}

/** How a process has ended that no longer runs. `place`: where a process that could not be ended runs, as "pane %1". */
export function exitOf({ stop, stoppedAs, ended }: Life, place?: string): Exit {
  if (stop === "left" || ended === undefined) {
    return { how: "lost", reason: place === undefined ? UNSTOPPABLE : `${UNSTOPPABLE} in ${place}` };
  }
  if (stop === "all" && stoppedAs !== undefined) return stoppedAs;
  if (ended.how === "code") return exitOfCode(ended.code, stop === "all");
  // The process that watched the command may have been ended with it.
  return stop === "all" && ended.how === "lost" ? { how: "aborted" } : ended;
}

/** The reason of "lost" for a process that could not be stopped. */
const UNSTOPPABLE =
  "it could not be stopped: it may belong to another user (sudo) or hang in the kernel, and may still be running";

/**
 * Converts an exit code that a shell reported. Most shells report a signal as 128 plus its number, which a program may
 * also exit with; so this counts as a signal only if we sent one. Codes that no program can have are certainly signals:
 * 256 (ksh93) or 384 (yash) plus the number.
 */
export function exitOfCode(code: number, wasStopped: boolean): Exit {
  const signal = code > 255 || (wasStopped && code > 128) ? SIGNALS.get(code % 128) : undefined;
  return signal === undefined ? { how: "exited", code } : { how: "signaled", signal };
}

const SIGNALS = new Map<number, string>(Object.entries(constants.signals).map(([name, number]) => [number, name]));
