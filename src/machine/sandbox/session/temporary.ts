import { existsSync } from "node:fs";
import { realOf } from "../../git/disk.ts";
import type { Session } from "./session.ts";

/** A temporary folder of the system (`at`), and the session's that replaces it inside (`from`). Real paths. */
export interface Temporary {
  readonly at: string;
  readonly from: string;
}

/** The real paths of the system's temporary folders. */
export function temporaryFolders(): readonly string[] {
  return [...new Set(["/tmp", "/var/tmp"].filter((path) => existsSync(path)).map(realOf))];
}

/** The system's temporary folders, each with the session's folder that replaces it. */
export function temporaryOf({ tmp, varTmp }: Pick<Session, "tmp" | "varTmp">): readonly Temporary[] {
  return temporaryFolders().map((at) => ({ at, from: at === realOf("/tmp") ? tmp : varTmp }));
}
