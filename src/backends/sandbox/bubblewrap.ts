import type { Env } from "../../contract/effect.ts";
import type { Mount } from "./mounts.ts";

/** What the bubblewrap of this machine can do here: found out by trying. */
export interface Features {
  /** No namespace of users can be made inside (bubblewrap 0.8). */
  readonly noUsers: boolean;
  /** A name of its own for its control groups. */
  readonly cgroup: boolean;
  /** A /proc of its own, which shows its own processes alone. */
  readonly processes: boolean;
  /** Folders that may not be looked into (bubblewrap 0.5); else they are empty. */
  readonly permissions: boolean;
  /** System calls are filtered. */
  readonly filter: boolean;
}

export const ALL_FEATURES: Features = { noUsers: true, cgroup: true, processes: true, permissions: true, filter: true };

/** Descriptors that bwrap finds open: its arguments, the filter of system calls, where it tells how it went. */
export const DESCRIPTORS = { args: 7, filter: 8, status: 9 } as const;

export interface Wrapping {
  readonly features: Features;
  readonly mounts: readonly Mount[];
  readonly cwd: string;
  /** Variables for the command alone: bwrap itself, which is not contained, must not be changed by them. */
  readonly env: Env;
  /** Variables that the command does not get. */
  readonly withoutEnv: readonly string[];
  /** "own": a network with nothing in it. "entered": that of whoever starts it, a room. */
  readonly network: "own" | "entered";
  /** True: it ends when whoever started it does. */
  readonly diesWithParent: boolean;
}

/** The words for bwrap that contain a command; the command itself comes behind them. Pure. */
export function bubblewrapWords({
  features,
  mounts,
  cwd,
  env,
  withoutEnv,
  network,
  diesWithParent,
}: Wrapping): readonly string[] {
  return [
    ...["--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts"],
    ...(features.cgroup ? ["--unshare-cgroup-try"] : []),
    ...(features.noUsers ? ["--disable-userns"] : []),
    ...(network === "own" ? ["--unshare-net"] : []),
    ...(diesWithParent ? ["--die-with-parent"] : []),
    // A process group of its own: what signals its group must not reach bwrap, which is in ours.
    "--new-session",
    ...["--cap-drop", "ALL"],
    ...["--ro-bind", "/", "/"],
    ...mounts.flatMap((mount) => wordsFor(mount, features)),
    // When all that lies in them has its place.
    ...mounts.flatMap(({ kind, at }) => (kind === "closed" || kind === "emptied" ? ["--remount-ro", at] : [])),
    ...["--chdir", cwd],
    ...withoutEnv.flatMap((name) => ["--unsetenv", name]),
    ...Object.entries(env).flatMap(([name, value]) => ["--setenv", name, value]),
    ...(features.filter ? ["--seccomp", String(DESCRIPTORS.filter)] : []),
    ...["--json-status-fd", String(DESCRIPTORS.status)],
  ];
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
      // One may go through it where something in it can be seen.
      return [...(permissions ? ["--perms", mount.holds ? "0111" : "0000"] : []), "--tmpfs", at];
    case "emptied":
      return [...(permissions ? ["--perms", "0555"] : []), "--tmpfs", at];
    case "nothing":
      // A device where devices cannot be opened.
      return ["--ro-bind", "/dev/null", at];
    case "devices":
      return ["--dev", at];
    case "processes":
      return ["--proc", at];
  }
}
