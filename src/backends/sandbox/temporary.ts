import { existsSync } from "node:fs";
import { realOf } from "./hidden.ts";
import type { Session } from "./session.ts";

/** A temporary folder of the system, and the session's own that contained commands find in its place. Both real. */
export interface Temporary {
  readonly at: string;
  readonly from: string;
}

/** The temporary folders of the system, as they really are. */
export function temporaryFolders(): readonly string[] {
  return [...new Set(["/tmp", "/var/tmp"].filter((path) => existsSync(path)).map(realOf))];
}

/** With what a session has in their place. */
export function temporaryOf({ tmp, varTmp }: Pick<Session, "tmp" | "varTmp">): readonly Temporary[] {
  return temporaryFolders().map((at) => ({ at, from: at === realOf("/tmp") ? tmp : varTmp }));
}
