import { readFileSync } from "node:fs";
import { lstatSync } from "node:fs";
import { isInside } from "../../util/paths.ts";
import { realOf } from "./hidden.ts";

/** Variables that lead programs to somebody outside: an agent with keys, a desktop, a container engine. */
export const LEADING_OUT = [
  "SSH_AUTH_SOCK",
  "SSH_AGENT_PID",
  "GPG_AGENT_INFO",
  "DBUS_SESSION_BUS_ADDRESS",
  "DBUS_SYSTEM_BUS_ADDRESS",
  "DOCKER_HOST",
  "CONTAINER_HOST",
  "XDG_RUNTIME_DIR",
  "WAYLAND_DISPLAY",
  "DISPLAY",
  "XAUTHORITY",
] as const;

/** `__SO_ACCEPTCON` and the types of /proc/net/unix (proc(5)). */
const LISTENS = 0x10000;
const DATAGRAM = "0002";

/**
 * Sockets of files that somebody on this machine listens on, but those inside of `except`. A network of its own does not keep a command from
 * them: only their file does. Those of other networks (a container's) are not told by the system.
 */
export function listeningSockets(except: readonly string[]): readonly string[] {
  return [...new Set(socketPaths(listed()).map(realOf))].filter(
    (path) => !except.some((folder) => isInside(path, folder)) && isSocket(path),
  );
}

/** The paths of a listing, once each: "Num RefCount Protocol Flags Type St Inode Path". Pure. */
export function socketPaths(listing: string): readonly string[] {
  const paths = listing.split("\n").flatMap((line) => {
    const [, flags = "", type = "", path] = /^\S+ \S+ \S+ ([0-9A-F]+) ([0-9A-F]+) \S+ +\d+ (\/.*)$/i.exec(line) ?? [];
    if (path === undefined) return [];
    return type === DATAGRAM || (Number.parseInt(flags, 16) & LISTENS) !== 0 ? [path] : [];
  });
  return [...new Set(paths)];
}

function listed(): string {
  try {
    return readFileSync("/proc/net/unix", "utf8");
  } catch {
    return "";
  }
}

function isSocket(path: string): boolean {
  try {
    return lstatSync(path).isSocket();
  } catch {
    return false;
  }
}
