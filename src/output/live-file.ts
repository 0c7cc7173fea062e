import { randomUUID } from "node:crypto";
import { processStatus } from "../util/process-status.ts";

const NAME = /^(\d+)-(\d*)-[0-9a-f-]{36}\.log$/;

let prefix: string | undefined;

/** A new name for a file that this process is about to write: `PID-START-UUID.log`, with the start time of the process where /proc has it. */
export function liveFileName(): string {
  prefix ??= `${process.pid}-${processStatus(process.pid)?.start ?? ""}`;
  return `${prefix}-${randomUUID()}.log`;
}

/**
 * Whether the process that gave a file this name still runs, and so may still write the file or read it. False for any other name. A
 * process in another container cannot be seen and counts as ended.
 */
export function isLiveFileName(name: string): boolean {
  const [, pid, start] = NAME.exec(name) ?? [];
  if (pid === undefined) return false;
  const status = processStatus(Number(pid));
  return status === undefined ? start === "" && exists(Number(pid)) : status.start === start && !status.ended;
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // another user's
  }
}
