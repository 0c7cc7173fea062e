import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Making FIFOs costs a process; this many are made at a time. */
const BATCH = 16;

/** Makes real pipes: FIFOs in a folder of their own, which only this user can enter. */
export function pipeMaker(): {
  readonly folder: string;
  /** @throws The system's error when none can be made. */
  make(): Promise<readonly string[]>;
  remove(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), "handrail-pipes-"));
  let made = 0;
  return {
    folder,
    async make() {
      mkdirSync(folder, { recursive: true, mode: 0o700 }); // somebody may have cleared the temporary folder
      const names = Array.from({ length: BATCH }, () => join(folder, String(made++)));
      await promisify(execFile)("mkfifo", ["-m", "600", ...names]);
      return names;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
