import type { Env } from "../../../core/contract/effect.ts";
import { HOLDER_VARIABLE } from "../../spawner/kill-tree.ts";
import type { Mount } from "../mounts/mounts.ts";
import { LEADING_OUT } from "../mounts/sockets.ts";

/** What bubblewrap can do on this machine, found by `probe`. */
export interface Features {
  /** Commands cannot create user namespaces (bubblewrap 0.8). */
  readonly noUsers: boolean;
  /** The sandbox has its own cgroup namespace. */
  readonly cgroup: boolean;
  /** The sandbox has its own /proc, which shows only its own processes. */
  readonly processes: boolean;
  /** Hidden folders cannot be listed (bubblewrap 0.5); without this they look empty. */
  readonly permissions: boolean;
  /** System calls are filtered. */
  readonly filter: boolean;
}

export const ALL_FEATURES: Features = { noUsers: true, cgroup: true, processes: true, permissions: true, filter: true };

/**
 * Descriptors that are open when bwrap starts, besides those of the watcher: its arguments, the system call filter, and
 * its status report.
 */
export const DESCRIPTORS = { args: 7, filter: 8, status: 9 } as const;

/** A command in its sandbox. */
export interface Contained {
  readonly cwd: string;
  /** Variables for the command only. They must not affect bwrap, which is not contained. */
  readonly env: Env;
  /** False: the command ends when its parent does. */
  readonly isDetached: boolean;
  /** True: the command has a new, empty network. False: it has the caller's. */
  readonly hasOwnNetwork: boolean;
}

/** Returns bwrap's words for a command; the command itself follows them. Pure. */
export function bubblewrapWords(
  features: Features,
  mounts: readonly Mount[],
  { cwd, env, isDetached, hasOwnNetwork }: Contained,
): readonly string[] {
  return [
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"],
    ...(features.cgroup ? ["--unshare-cgroup-try"] : []),
    ...(features.noUsers ? ["--disable-userns"] : []),
    ...(hasOwnNetwork ? ["--unshare-net"] : []),
    ...(isDetached ? [] : ["--die-with-parent"]),
    // Its own process group: a command that signals its group must not reach bwrap, which is in ours.
    "--new-session",
    ...["--cap-drop", "ALL"],
    ...["--ro-bind", "/", "/"],
    ...mounts.flatMap((mount) => wordsFor(mount, features)),
    // After everything inside these folders is mounted.
    ...mounts.flatMap(({ kind, at }) => (kind === "closed" || kind === "emptied" ? ["--remount-ro", at] : [])),
    ...["--chdir", cwd],
    ...[HOLDER_VARIABLE, ...LEADING_OUT].flatMap((name) => ["--unsetenv", name]),
    ...Object.entries(possible(env)).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(features.filter ? ["--seccomp", String(DESCRIPTORS.filter)] : []),
    ...["--json-status-fd", String(DESCRIPTORS.status)],
  ];
}

/** The variables that bubblewrap gives to a command, from those of the backend (`base`) and the command's own. */
export function variablesInside(base: Env, { cwd, env }: Pick<Contained, "cwd" | "env">): Env {
  const kept = Object.entries(base).filter(([name]) => name !== HOLDER_VARIABLE && !LEADING_OUT.includes(name));
  return { ...Object.fromEntries(kept), ...possible(env), PWD: cwd };
}

/** Without names that no variable can have. */
function possible(env: Env): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== "" && !name.includes("=")));
}

function wordsFor(mount: Mount, { permissions }: Features): readonly string[] {
  const { at } = mount;
  switch (mount.kind) {
    case "writable":
    case "pin":
      return ["--bind", at, at];
    case "read-only":
    case "reopened":
      return ["--ro-bind", at, at];
    case "private":
      return ["--bind", mount.from, at];
    case "given":
      return ["--ro-bind", mount.from, at];
    case "empty":
      return ["--tmpfs", at];
    case "closed":
      // Mode 0111 lets commands pass through to what is visible inside.
      return [...(permissions ? ["--perms", mount.holds ? "0111" : "0000"] : []), "--tmpfs", at];
    case "emptied":
      return [...(permissions ? ["--perms", "0555"] : []), "--tmpfs", at];
    case "nothing":
      // Mounts forbid opening devices, so this one cannot be opened.
      return ["--ro-bind", "/dev/null", at];
    case "devices":
      return ["--dev", at];
    case "processes":
      return ["--proc", at];
  }
}
