/**
 * How a command is run: contained by the sandbox, with what it was given beside what every contained command has, or "none", like any program
 * of the user's.
 */
export type Containment = "none" | Needs;

/** What a contained command needs beyond the workspace. As a tool asks for it paths are as written; as the policy grants it they are real. */
export interface Needs {
  /** Hosts it may reach, as rules of `policy.network` ("registry.example.org", "*.example.org", "example.org:8443"); "*" is every public one. */
  readonly network?: readonly string[];
  /** Folders and files it may write, with all under them. */
  readonly write?: readonly string[];
  /** Folders and files it may read although the sandbox hides them. */
  readonly read?: readonly string[];
  /** True: the workspace is read-only, too; private caches and temporary files are not. The policy sets it in read-only autonomy. Default false. */
  readonly readOnly?: boolean;
  /** Set by the policy where it has seen a git command that may begin or continue a rebase, cherry-pick, revert or bisect. Default: none. */
  readonly git?: GitNeeds;
  /**
   * True: sensitive files of the workspace (.env, keys) are hidden, but for those in `read` and `write`. The policy sets it for a command with hosts
   * unless a person approved these hosts for this very call. Default false.
   */
  readonly hideSensitive?: boolean;
}

export interface GitNeeds {
  /** What the command names to be run between commits: `make` of `git rebase --exec make`. */
  readonly exec: readonly string[];
}

/** Something that the sandbox kept a command from. */
export type Refusal =
  /** It is read-only there, or hidden. */
  | { readonly kind: "write" | "read"; readonly path: string }
  /** It was made, and put aside when the command had ended: it would have led git to programs, for whoever looks at the repository later. */
  | { readonly kind: "held-back"; readonly path: string }
  /** "registry.example.org:443"; `reason` when more is known than that nobody allowed it. */
  | { readonly kind: "host"; readonly host: string; readonly reason?: string }
  /** It tried to reach the network, and which host is not known. */
  | { readonly kind: "network" }
  /** A system call that no tool needs; `what` is the line of the output that says so. */
  | { readonly kind: "system-call"; readonly what: string }
  /** It was too much for this machine, and was stopped or held back. */
  | { readonly kind: "limit"; readonly what: "processes" | "memory" | "disk" };

/** More was refused than is usual. */
export interface Alarm {
  /** So many refusals … */
  readonly refused: number;
  /** … within so many milliseconds. */
  readonly withinMs: number;
}

/** Is told of refusals as they happen. */
export type Alarms = (refusals: readonly Refusal[]) => Alarm | undefined;

/** "auto": a sandbox where it works; "on": without a working one nothing runs; "off": none. From the loosest to the strictest. */
export const SANDBOX_MODES = ["off", "auto", "on"] as const;
export type SandboxMode = (typeof SANDBOX_MODES)[number];

/** What a mode comes down to on a system: where there can be no sandbox, "auto" is none, nothing is tried and tools offer nothing of it. */
export function sandboxModeOn(platform: NodeJS.Platform, mode: SandboxMode = "auto"): SandboxMode {
  return mode === "auto" && platform !== "linux" ? "off" : mode;
}

/** The sandbox of a backend. */
export interface Sandbox {
  /** True: without it nothing is run. False: where it does not work, commands run without it, and more is asked about. */
  readonly required: boolean;
  /** Real paths that contained commands do not see, with all under them: where keys and secrets are kept. */
  readonly hidden: readonly string[];
  /**
   * Real paths of temporary folders ("/tmp"). Where the sandbox works they are the session's own for contained commands, and for the backend's files
   * and helpers too; paths in them are those that commands use.
   */
  readonly temporary: readonly string[];
  /** Whether it works here; tried once. Never rejects. */
  state(): Promise<SandboxState>;
}

export type SandboxState =
  /** `missing`: what it does not do here, each a sentence with its reason ("Memory is not limited: …"). */
  | { readonly works: true; readonly missing: readonly string[] }
  /** Why, and what a person can do about it; both sentences. */
  | { readonly works: false; readonly reason: string; readonly fix: string };

/** What both allow. Left out is contained with nothing more, so that is what comes of it with anything else but itself. */
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
    ...(one.git !== undefined && other.git !== undefined && { git: { exec: both(one.git.exec, other.git.exec) } }),
    ...((one.hideSensitive === true || other.hideSensitive === true) && { hideSensitive: true }),
  };
}
