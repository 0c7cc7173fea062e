import type { Readable, Writable } from "node:stream";
import type { Access } from "../../core/contract/backend.ts";
import { Unreachable } from "../../core/contract/failure.ts";

/** Connects to a remote system: a container, or a host over SSH. */
export interface Transport {
  /** The backend's name: "docker:web", "ssh:deploy@host". */
  readonly name: string;
  /** Its name in sentences: "container web", "deploy@host". */
  readonly place: string;
  /** As `Backend.access`. */
  readonly access: Access;
  /**
   * Starts a POSIX shell on the remote host, after a login's profile. "first" opens the connection; when that line
   * ends, all lines end. "further" opens another line on the open connection, and fails if there is none. Rejects with
   * `Unreachable` when it cannot even be attempted; later failures are reported by the line's end.
   */
  open(which: "first" | "further"): Promise<Line>;
  /** Explains why a line ended unexpectedly, and what to do. Never rejects. */
  explain(end: LineEnd): Promise<Unreachable>;
  /** True when the remote system is frozen (a paused container). Called when an answer is late. Never rejects. */
  isFrozen?(): Promise<boolean>;
  /** Closes what the lines share. Never rejects. */
  close(): Promise<void>;
}

/** A program on this machine whose streams are those of a remote shell. Output of a profile comes first. */
export interface Line {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Resolves when the local program has ended. Never rejects. */
  readonly ended: Promise<LineEnd>;
  /** Kills the local program. */
  kill(): void;
}

/** How the program of a line has ended. */
export interface LineEnd {
  readonly code: number | null;
  readonly signal: string | null;
  /** The end of its stderr, which explains a failure. */
  readonly message: string;
}

/** Creates a failure that persists until a person acts. */
export function unreachable(message: string, hint?: string, cause?: unknown): Unreachable {
  return new Unreachable(message, { mayPass: false, ...(hint !== undefined && { hint }), cause });
}

/** Describes how a program ended: "with status 1", "by SIGTERM". */
export function howOf({ code, signal }: LineEnd): string {
  return signal === null ? `with status ${code}` : `by ${signal}`;
}
