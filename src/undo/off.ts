import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { tried } from "../util/errors.ts";
import { replacePrivateFile } from "../util/private-file.ts";
import { UndoOff } from "./git.ts";
import type { UndoStore } from "./log.ts";

/** How long a workspace with too much content is not tried again: an hour, in milliseconds. */
const FULL_MS = 3_600_000;

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
        off = { notice: `Undo is off: ${outcome.message}.`, until: Date.now() + FULL_MS };
    },
    noticeFor(thread) {
      if (off === undefined || told.has(thread)) return undefined;
      told.add(thread);
      return off.notice;
    },
  };
}

interface Full {
  readonly message: string;
  /** The limit that was too small, in bytes. */
  readonly maxBytes: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

const NAME = "full.json";
const fileOf = (store: string) => join(store, NAME);

/** Records that the workspace has too much content for the limit, so that no process has to find out again at once. */
export async function recordFull({ path, maxBytes }: UndoStore, message: string): Promise<UndoOff> {
  const full: Full = { message, maxBytes, at: Date.now() };
  await replacePrivateFile(path, NAME, JSON.stringify(full)).catch(() => {}); // this is found out again
  return new UndoOff(message);
}

/**
 * Forgets what is older than an hour, or was found with a smaller limit.
 *
 * @throws UndoOff if the workspace has too much content otherwise.
 */
export function requireRoom({ path, maxBytes }: UndoStore): void {
  if (!existsSync(fileOf(path))) return;
  const full = tried(() => JSON.parse(readFileSync(fileOf(path), "utf8")) as Full);
  if (full === undefined) return;
  if (maxBytes <= full.maxBytes && Date.now() - full.at < FULL_MS) throw new UndoOff(full.message);
  tried(() => unlinkSync(fileOf(path)));
}
