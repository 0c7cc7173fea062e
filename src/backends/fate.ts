import type { Exit } from "../contract/backend.ts";
import { pause } from "../util/abort.ts";

/** The end of a process is told so long after it at the latest, when whoever watches over it lives. */
const TOLD_MS = 1_500;

/** It is looked again so soon for an end that is about to be told. */
const SOON_MS = 50;

/** How a process has ended. */
export interface End {
  readonly exit: Exit;
  /** Milliseconds since 1970, by the clock where it ran. */
  readonly atMs: number;
}

/** What shows of a process that others watch over: it runs; it has gone, and how is still to be told; or how it has ended. */
export type Fate = "running" | "gone" | End;

/** Judges what is seen of one process, look by look: when nobody has told of its end in time, nobody will, and it is lost. */
export function fateJudge(): (seen: Fate) => Fate {
  let gone: { readonly sinceMs: number; readonly atMs: number } | undefined;
  return (seen) => {
    if (seen !== "gone") return seen;
    gone ??= { sinceMs: performance.now(), atMs: Date.now() };
    if (performance.now() - gone.sinceMs < TOLD_MS) return "gone";
    return lostAt(gone.atMs);
  };
}

/** The end of a process that nobody has told of. */
export function lostAt(atMs: number): End {
  return { exit: { how: "lost", reason: "what watched over it has died too" }, atMs };
}

/** How it has ended, as soon as that is told; `undefined` while it runs. Rejects like `look`, which says what its judge does. */
export async function endOf(look: () => Promise<Fate>): Promise<End | undefined> {
  for (;;) {
    const fate = await look();
    if (fate === "running") return undefined;
    if (fate !== "gone") return fate;
    await pause(SOON_MS);
  }
}
