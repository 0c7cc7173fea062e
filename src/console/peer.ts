import { readFileSync, readdirSync, readlinkSync } from "node:fs";
import type { Socket } from "node:net";
import { isStartedByHandrail } from "../backends/local/spawner/marks.ts";

/**
 * Returns true when the process at the other end of a connection was started by Handrail, for a command of a model.
 * Such a process must not answer for a person. Reads /proc, so it returns false outside Linux, for another machine, and
 * for processes that `isStartedByHandrail` does not recognize.
 */
export function isPeerOfHandrail({ remoteAddress, remotePort, localPort }: Socket): boolean {
  if (process.platform !== "linux" || remoteAddress === undefined || remotePort === undefined) return false;
  const inode = inodeOf(remotePort, localPort ?? 0);
  return inode !== undefined && holdersOf(`socket:[${inode}]`).some((pid) => isStartedByHandrail(pid));
}

/**
 * Returns the inode of the client's end of the connection between two ports (proc_net_tcp(5): addresses in hexadecimal,
 * then ten columns up to the inode).
 */
function inodeOf(clientPort: number, serverPort: number): string | undefined {
  const hex = (port: number) => port.toString(16).toUpperCase().padStart(4, "0");
  const line = new RegExp(
    `^ *\\d+: [0-9A-F]+:${hex(clientPort)} [0-9A-F]+:${hex(serverPort)} (?:\\S+ +){6}(\\d+)`,
    "m",
  );
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const inode = line.exec(textOf(table))?.[1];
    if (inode !== undefined && inode !== "0") return inode;
  }
  return undefined;
}

function holdersOf(socket: string): readonly number[] {
  const holds = (pid: string) => namesIn(`/proc/${pid}/fd`).some((fd) => linkOf(`/proc/${pid}/fd/${fd}`) === socket);
  return namesIn("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && holds(name))
    .map(Number);
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "latin1");
  } catch {
    return "";
  }
}

/** Returns the names in a folder; none if it is gone, or belongs to another user. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
