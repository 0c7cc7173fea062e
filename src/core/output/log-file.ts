import type { OpenFile, OutputLog } from "../contract/backend.ts";

/** Returns an output log, at its current length, as an open file. Closing the file does not affect the log. */
export function logFile(log: OutputLog, path: string, modifiedMs: number): OpenFile {
  const size = log.kept;
  return {
    info: { path, kind: "file", size, modifiedMs, mode: 0o600, links: 1, version: String(size) },
    read: (offset, length) => log.read(offset, Math.min(size, offset + length)),
    close: async () => {},
  };
}
