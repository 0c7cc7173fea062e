import type { Readable, Writable } from "node:stream";
import type { Access } from "../../contract/backend.ts";
import type { Unreachable } from "../../contract/failure.ts";

/** A way to another system: into a container, to a host over SSH. */
export interface Transport {
  /** The backend's name: "docker:web", "ssh:deploy@host". */
  readonly name: string;
  /** As it stands in a sentence: "container web", "deploy@host". */
  readonly place: string;
  /** As `Backend.access`. */
  readonly access: Access;
  /**
   * Starts a POSIX shell there, after the profile of a login has been read. "first" opens the connection; when that line ends, all do. "further" is one
   * more on the connection that is open, and fails where there is none any more. Rejects with `Unreachable` when it cannot even be tried; what goes wrong later
   * shows in the line's end.
   */
  open(which: "first" | "further"): Promise<Line>;
  /** Why a line has ended that should have gone on: what is wrong, and what to do. Never rejects. */
  explain(end: LineEnd): Promise<Unreachable>;
  /**
   * True when nobody there can answer for now, which shows on no line (a paused container). Looked at when an answer is long in coming. Left out where the lines
   * of such a system end by themselves. Never rejects.
   */
  isFrozen?(): Promise<boolean>;
  /** Ends what the lines have in common. Never rejects. */
  close(): Promise<void>;
}

/** A program here whose streams are those of a shell there. What a profile prints comes first on them. */
export interface Line {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Settles when the program here has ended. Never rejects. */
  readonly ended: Promise<LineEnd>;
  /** Ends the program here. */
  kill(): void;
}

/** How the program of a line has ended. */
export interface LineEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The end of what it wrote to stderr: its own words, where it failed. */
  readonly said: string;
}
