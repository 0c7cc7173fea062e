/**
 * How a command runs: in the sandbox with extra access (`SandboxAccess`), or "none" for outside the sandbox, like any
 * program of the user.
 */
export type Containment = "none" | SandboxAccess;

/**
 * Access of a contained command besides the workspace. Paths are as written when a tool asks, and real when the policy
 * grants.
 */
export interface SandboxAccess {
  /**
   * Hosts it may connect to, as rules of `policy.network` ("registry.example.org", "*.example.org",
   * "example.org:8443"); "*" is any public host.
   */
  readonly network?: readonly string[];
  /** Folders and files it may write. A folder includes everything in it. */
  readonly write?: readonly string[];
  /** Folders and files it may read although the sandbox hides them. */
  readonly read?: readonly string[];
  /**
   * Whether the workspace is read-only too. Private caches and temporary files stay writable. The policy sets it in
   * read-only autonomy. Default false.
   */
  readonly readOnly?: boolean;
  /**
   * Whether the command may change an unfinished rebase, cherry-pick, revert or bisect. The policy sets it for the git
   * commands that do. Default false.
   */
  readonly git?: boolean;
  /**
   * Whether sensitive files of the workspace (.env, keys) are hidden, except those in `read` and `write`. The policy
   * sets it for a command with hosts, unless a person approved these hosts for this call. Default false.
   */
  readonly hideSensitive?: boolean;
}

/** Something that the sandbox refused to a command. */
export type Refusal =
  /** A path that the sandbox hides, and that the command's output names as missing or denied. */
  | { readonly kind: "read"; readonly path: string }
  /**
   * A file that the command made and that would make git run programs. The file was renamed, or disabled in place, when
   * the command ended.
   */
  | { readonly kind: "held-back"; readonly path: string }
  /**
   * A file that the command made and that other programs obey. `what` it is: "editor settings, which run programs".
   * `isAside`: these programs would run what it names unasked, so it was renamed (".held-back") until a person has
   * looked at it. Otherwise it was left in place.
   */
  | { readonly kind: "start-up"; readonly path: string; readonly what: string; readonly isAside: boolean }
  /**
   * A folder of the workspace that is read-only, and hidden from commands that may send something, because protected
   * files in it are still being searched for (`isGoingOn`), or because the workspace has too many folders.
   */
  | { readonly kind: "unsearched"; readonly path: string; readonly isGoingOn: boolean }
  /** A host that the proxy refused: "registry.example.org:443". `reason`: why asking for the host would not help. */
  | { readonly kind: "host"; readonly host: string; readonly reason?: string }
  /** A limit of the sandbox that the command reached. */
  | { readonly kind: "limit"; readonly what: "processes" | "memory" | "disk" }
  /** A probable cause, from a phrase in the output of a failed command. The path, host or call is not known. */
  | { readonly kind: "likely"; readonly what: "write" | "network" | "temporary" | "system-call" | "signing" };

/** Unusually many refusals. */
export interface Alarm {
  /** How many refusals there were … */
  readonly refused: number;
  /** … within how many milliseconds. */
  readonly withinMs: number;
}

/** Counts refusals as they happen; returns an alarm when there are too many. */
export type Alarms = (refusals: readonly Refusal[]) => Alarm | undefined;

/**
 * "auto": use the sandbox where it works; "on": run nothing without it; "off": do not use it. In order of strictness.
 */
export const SANDBOX_MODES = ["off", "auto", "on"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/**
 * The effective mode on a platform. "auto" is "off" where no sandbox exists: nothing is tried, and tools do not offer
 * it.
 */
export function sandboxModeOn(platform: NodeJS.Platform, mode: SandboxMode = "auto"): SandboxMode {
  return mode === "auto" && platform !== "linux" ? "off" : mode;
}

/** Whether commands are contained. "offline": in a sandbox on another system, which opens no hosts. */
export type Sandboxed = boolean | "offline";

/** Returns whether commands of a backend with this sandbox are contained, if the sandbox works. */
export function sandboxedBy(sandbox: Sandbox | undefined): Sandboxed {
  if (sandbox === undefined) return false;
  return sandbox.lacks?.what.includes("network") === true ? "offline" : true;
}

/** The sandbox of a backend. */
export interface Sandbox {
  /**
   * Whether nothing runs without the sandbox. If false and the sandbox does not work, commands run without it, and
   * people are asked more questions.
   */
  readonly required: boolean;
  /** Real paths that are hidden from contained commands, with everything in them: folders of keys and secrets. */
  readonly hidden: readonly string[];
  /**
   * What no contained command has on this target, which Handrail reaches from another machine: connections to hosts, a
   * life after the session. Such commands run outside the sandbox, after approval. Default: nothing.
   */
  readonly lacks?: { readonly place: string; readonly what: readonly ("network" | "detached")[] };
  /**
   * The folder in which contained commands without a network can read the saved outputs, one file for each id. Absent
   * before the first command, and where the sandbox does not work.
   */
  readonly outputs?: string | undefined;
  /**
   * Real paths of temporary folders ("/tmp"). With a working sandbox they are private to the session, for contained
   * commands and for the backend's files and helpers; paths in them mean the private ones.
   */
  readonly temporary: readonly string[];
  /** Whether a real path is in a temporary folder, but not in the workspace or the home, which commands see as is. */
  isTemporary(real: string): boolean;
  /** Resolves to where people see a real path that is in a temporary folder; `undefined` if it is the same one. */
  seenAt?(real: string): Promise<string | undefined>;
  /** Whether the sandbox works on this machine. The first call tries it. Never rejects. */
  state(): Promise<SandboxState>;
}

export type SandboxState =
  /** `missing`: what the sandbox cannot do on this machine; each sentence has a reason ("Memory is not limited: …"). */
  | { readonly works: true; readonly missing: readonly string[] }
  /** The reason and the fix, both sentences. */
  | { readonly works: false; readonly reason: string; readonly fix: string };

/** The containment that allows only what both allow. An absent containment means contained without extra access. */
export function narrower(one: Containment = {}, other: Containment = {}): Containment {
  if (one === "none") return other;
  if (other === "none") return one;
  const both = (left: readonly string[] = [], right: readonly string[] = []) =>
    left.filter((each) => right.includes(each));
  return {
    network: both(one.network, other.network),
    write: both(one.write, other.write),
    read: both(one.read, other.read),
    ...((one.readOnly === true || other.readOnly === true) && { readOnly: true }),
    ...(one.git === true && other.git === true && { git: true }),
    ...((one.hideSensitive === true || other.hideSensitive === true) && { hideSensitive: true }),
  };
}
