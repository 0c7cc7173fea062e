import type { Risk } from "../../contract/decision.ts";
import type { Shell } from "./folders.ts";
import { type Part, partOf, raiseUnclear } from "./part.ts";
import type { Word } from "./tree.ts";

/** A script in a script in a script: deeper is not followed. */
const MAX_DEPTH = 5;
/** More commands are not looked at one by one. */
const MAX_PARTS = 300;

/** What there is to be seen of a script. */
export interface Seen {
  readonly parts: readonly Part[];
  /** The name of every command in it, wherever it stands. */
  readonly names: readonly string[];
  /** False: it may run commands that are not among `names`. */
  readonly complete: boolean;
}

/** What has been seen of a script, while it is walked. */
export interface Sight {
  readonly names: string[];
  /** Another part. The one that is one too many says so. */
  open(kind: Part["kind"], text: string, words: readonly Word[], shell: Shell): Part;
  /** Something that is not looked into: a part of its own says why. */
  notFollowed(text: string, shell: Shell, why: string, risk?: Risk): void;
  /** True of a script that is nested so deep that it is not followed; that is said then. */
  isTooDeep(text: string, shell: Shell): boolean;
  /** There are commands whose names nobody knows. */
  missSome(): void;
  /** True when there are so many parts that no more are looked for. */
  isFull(): boolean;
  /** All of it; what is unclear in a part makes it no ordinary work. */
  seen(): Seen;
}

/** Nothing has been seen yet. */
export function createSight(): Sight {
  const parts: Part[] = [];
  const names: string[] = [];
  let complete = true;

  const open: Sight["open"] = (kind, text, words, shell) => {
    const part = partOf(kind, text.trim(), words, shell);
    parts.push(part);
    if (parts.length > MAX_PARTS) {
      complete = false;
      part.unclear.push(`it has more than ${MAX_PARTS} commands`);
    }
    return part;
  };
  const notFollowed: Sight["notFollowed"] = (text, shell, why, risk = "medium") => {
    complete = false;
    raiseUnclear(open("other", text, [], shell), risk, why);
  };

  return {
    names,
    open,
    notFollowed,
    isTooDeep(text, shell) {
      if (shell.depth <= MAX_DEPTH) return false;
      notFollowed(text, shell, `it is nested more than ${MAX_DEPTH} deep`);
      return true;
    },
    missSome() {
      complete = false;
    },
    isFull: () => parts.length > MAX_PARTS,
    seen() {
      for (const part of parts) if (part.unclear.length + part.forbidden.length > 0) part.ordinary = false;
      return { parts, names, complete };
    },
  };
}
