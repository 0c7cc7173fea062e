import { lstatSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { namesIn, realOf } from "../../git/disk.ts";
import { tried } from "../../../core/util/errors.ts";
import { isInside } from "../../../core/util/paths.ts";
import { words } from "../../../core/util/text.ts";

/** Variables that lead programs to services outside: a key agent, a desktop, a container engine. */
export const LEADING_OUT = words(`
  SSH_AUTH_SOCK SSH_AGENT_PID GPG_AGENT_INFO DBUS_SESSION_BUS_ADDRESS DBUS_SYSTEM_BUS_ADDRESS DOCKER_HOST
  CONTAINER_HOST XDG_RUNTIME_DIR WAYLAND_DISPLAY DISPLAY XAUTHORITY
`);

/** `__SO_ACCEPTCON`, a flag in /proc/net/unix (proc(5)); `DATAGRAM` is a type there. */
const LISTENS = 0x10000;
const DATAGRAM = "0002";

/**
 * Returns the real paths of sockets that a process of this machine listens on, outside of `except`, in the workspace
 * too. A private network does not prevent connecting to them. The kernel does not list sockets of other networks: those
 * of commands in the sandbox, which may reach each other, and those of containers.
 */
export function listeningSockets(except: readonly string[]): readonly string[] {
  const named = socketNames(tried(() => readFileSync("/proc/net/unix", "utf8")) ?? "");
  const paths = [...named.map(({ name }) => name).filter((name) => name.startsWith("/")), ...absoluteOf(named)];
  return [...new Set(paths.map(realOf))].filter(
    (path) => !except.some((folder) => isInside(path, folder)) && isSocket(path) && isReached(dirname(path)),
  );
}

/** Resolves relative socket paths by the working directory of their process. Reads all open files for that. */
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
 * Whether this user can enter a folder by its mode bits. In the sandbox, root is an ordinary user, who may enter only
 * its own folders. In a folder that cannot be entered nothing needs to be hidden, and nothing can be mounted.
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
  /** As it was bound: a relative path counts from the process's working directory at that time. */
  readonly name: string;
}

/** The socket files in a listing, not abstract ones ("@…"): "Num RefCount Protocol Flags Type St Inode Path". */
export function socketNames(listing: string): readonly SocketName[] {
  return listing.split("\n").flatMap((line) => {
    const [, flags = "", type = "", inode = "", name] =
      /^\S+ \S+ \S+ ([0-9A-F]+) ([0-9A-F]+) \S+ +(\d+) ([^@].*)$/i.exec(line) ?? [];
    if (name === undefined) return [];
    return type === DATAGRAM || (Number.parseInt(flags, 16) & LISTENS) !== 0 ? [{ inode, name }] : [];
  });
}

function isSocket(path: string): boolean {
  return tried(() => lstatSync(path).isSocket()) ?? false;
}

function targetOf(link: string): string | undefined {
  return tried(() => readlinkSync(link));
}
