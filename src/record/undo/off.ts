import { UndoOff } from "./git.ts";

/** How long undo is not tried again where it cannot work: an hour, in milliseconds. */
const OFF_MS = 3_600_000;

/** Why undo is off, while it is. */
export interface Off {
  /** Remembers the reason. Ignores other errors. */
  learn(outcome: unknown): void;
  isOff(): boolean;
  /** Returns the notice for a thread that has not had it. `undefined`: the thread has had it, or undo is on. */
  noticeFor(thread: string): string | undefined;
}

/** Creates what remembers why undo is off. */
export function createOff(): Off {
  const told = new Set<string>();
  let off: { readonly notice: string; readonly until: number } | undefined;
  const isOff = () => off !== undefined && off.until > Date.now();
  return {
    isOff,
    learn(outcome) {
      if (outcome instanceof UndoOff && !isOff())
        off = { notice: `Undo is off: ${outcome.message}.`, until: Date.now() + OFF_MS };
    },
    noticeFor(thread) {
      if (off === undefined || told.has(thread)) return undefined;
      told.add(thread);
      return off.notice;
    },
  };
}
