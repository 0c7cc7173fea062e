import { lstatSync, readFileSync, readdirSync, readlinkSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
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
  const named = socketNames(listed());
  const paths = [...named.map(({ name }) => name).filter((name) => name.startsWith("/")), ...absoluteOf(named)];
  return [...new Set(paths.map(realOf))].filter(
    (path) => !except.some((folder) => isInside(path, folder)) && isSocket(path) && isReached(dirname(path)),
  );
}

/** A socket that was bound by a relative path is where a process that holds it stands. Reads what every process has open, where there is such a one. */
function absoluteOf(named: readonly SocketName[]): readonly string[] {
  const relative = new Map(
    named.filter(({ name }) => !name.startsWith("/")).map(({ inode, name }) => [`socket:[${inode}]`, name]),
  );
  if (relative.size === 0) return [];
  return namesIn("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      const held = namesIn(`/proc/${pid}/fd`).flatMap(
        (descriptor) => relative.get(targetOf(`/proc/${pid}/fd/${descriptor}`) ?? "") ?? [],
      );
      const folder = held.length > 0 ? targetOf(`/proc/${pid}/cwd`) : undefined;
      return folder === undefined ? [] : held.map((name) => join(folder, name));
    });
}

/**
 * Whether a folder can be entered by who we are, for inside root is nobody who may enter what is not his. There is nothing to hide where one
 * cannot get to, and nothing can be mounted there.
 */
function isReached(folder: string): boolean {
  const [uid, groups] = [process.geteuid?.() ?? 0, [process.getegid?.() ?? 0, ...(process.getgroups?.() ?? [])]];
  for (let at = folder; at !== "/"; at = dirname(at)) {
    const info = statSync(at, { throwIfNoEntry: false });
    if (info === undefined) return false;
    const shift = info.uid === uid ? 6 : groups.includes(info.gid) ? 3 : 0;
    if (((info.mode >> shift) & 1) === 0) return false;
  }
  return true;
}

interface SocketName {
  readonly inode: string;
  /** As it was bound: relative to where that process stood, then. */
  readonly name: string;
}

/** The files of a listing, those of abstract sockets ("@…") left out: "Num RefCount Protocol Flags Type St Inode Path". Pure. */
export function socketNames(listing: string): readonly SocketName[] {
  return listing.split("\n").flatMap((line) => {
    const [, flags = "", type = "", inode = "", name] =
      /^\S+ \S+ \S+ ([0-9A-F]+) ([0-9A-F]+) \S+ +(\d+) ([^@].*)$/i.exec(line) ?? [];
    if (name === undefined) return [];
    return type === DATAGRAM || (Number.parseInt(flags, 16) & LISTENS) !== 0 ? [{ inode, name }] : [];
  });
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

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // of another user, or it has ended
  }
}

function targetOf(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined;
  }
}
