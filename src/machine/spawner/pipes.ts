import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { messageOf } from "../../core/util/errors.ts";
import { hasCode } from "../../core/util/private-file.ts";

/** Creating FIFOs costs a process; this many are created at a time. */
const BATCH = 16;

/** Creates FIFOs in a new folder that only this user can enter. */
export function pipeMaker(): {
  readonly folder: string;
  /** Resolves to their paths. Rejects with `fifoFailure`. */
  make(): Promise<readonly string[]>;
  remove(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), "handrail-pipes-"));
  let made = 0;
  return {
    folder,
    async make() {
      mkdirSync(folder, { recursive: true, mode: 0o700 }); // the temporary folder may have been cleared
      const names = Array.from({ length: BATCH }, () => join(folder, String(made++)));
      await promisify(execFile)("mkfifo", ["-m", "600", ...names]).catch((error: unknown) => {
        throw fifoFailure(error);
      });
      return names;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Creates the error for mkfifo(1), without the system's code, which would mean that the command is missing. */
export function fifoFailure(error: unknown): Error {
  const [last = ""] = messageOf(error).trim().split("\n").slice(-1);
  const isMissing = hasCode(error, "ENOENT");
  return new Error(isMissing ? "the program mkfifo is missing on the PATH; install it (coreutils)" : last, {
    cause: error,
  });
}
