import { readFileSync, readlinkSync } from "node:fs";
import { tried } from "../../core/util/errors.ts";
import { processStatus } from "../../core/util/process-status.ts";
import { namesIn } from "../git/disk.ts";

/** A TCP port on which a process listens. */
export interface Listener {
  readonly port: number;
  /** The address in its network at which it is reached. */
  readonly host: "127.0.0.1" | "::1";
}

/** Ports below are those of system services. */
const LOWEST_PORT = 1_024;

/** The state of a listening socket in /proc/net/tcp (include/net/tcp_states.h). */
const LISTEN = "0A";

/** The ports from 1024 on which a process or a descendant listens, in order. Only sockets of these processes count. */
export function listenersOf(root: number): readonly Listener[] {
  const found = new Map<number, Listener>();
  for (const pid of descendantsOf(root)) {
    const own = new Set(namesIn(`/proc/${pid}/fd`).map((fd) => tried(() => readlinkSync(`/proc/${pid}/fd/${fd}`))));
    for (const [table, host] of [
      ["tcp", "127.0.0.1"],
      ["tcp6", "::1"],
    ] as const) {
      const lines =
        tried(() => readFileSync(`/proc/${pid}/net/${table}`, "latin1"))
          ?.split("\n")
          .slice(1) ?? [];
      for (const line of lines) {
        const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/);
        const port = Number.parseInt(local.slice(local.lastIndexOf(":") + 1), 16);
        if (state !== LISTEN || port < LOWEST_PORT || found.has(port) || !own.has(`socket:[${inode}]`)) continue;
        found.set(port, { port, host });
      }
    }
  }
  return [...found.values()].toSorted((one, other) => one.port - other.port);
}

/** The process and all processes below it: in a sandbox, nothing leaves the tree. */
function descendantsOf(root: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const pid of namesIn("/proc").map(Number)) {
    const parent = Number.isInteger(pid) ? processStatus(pid)?.parent : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const all = [root];
  for (const pid of all) all.push(...(children.get(pid) ?? []));
  return all;
}
