import { randomUUID } from "node:crypto";
import { isThere, processStatus } from "../util/process-status.ts";

const NAME = /^(\d+)-(\d*)-[0-9a-f-]{36}\.log$/;

let prefix: string | undefined;

/** Returns a new name for a file that this process writes: `PID-START-UUID.log`, with the start time of the process. */
export function liveFileName(): string {
  prefix ??= `${process.pid}-${processStatus(process.pid)?.start ?? ""}`;
  return `${prefix}-${randomUUID()}.log`;
}

/**
 * Returns true if the process that created the name is still running. False for other names, and for processes of other
 * containers.
 */
export function isLiveFileName(name: string): boolean {
  const [, pid, start] = NAME.exec(name) ?? [];
  if (pid === undefined) return false;
  const status = processStatus(Number(pid));
  return status === undefined ? start === "" && isThere(Number(pid)) : status.start === start && !status.ended;
}
