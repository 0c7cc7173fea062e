import type { Autonomy } from "../contract/policy.ts";

/** What people may set about the policy. Paths are absolute or start with `~`. */
export interface PolicySettings {
  /** Default "supervised". */
  readonly autonomy?: Autonomy;
  /** True (the default): what lies outside the workspace and the allowed roots is refused. False: it is asked about. */
  readonly workspaceOnly?: boolean;
  /** Folders that may be used like the workspace. */
  readonly allowedRoots?: readonly string[];
  /** Files and folders that may not be touched. Default: `DEFAULT_FORBIDDEN_PATHS`. */
  readonly forbiddenPaths?: readonly string[];
}

// Seed 003's list: system folders, other people's homes, and where keys are kept. A workspace inside one of them is the longer
// match and stays usable.
export const DEFAULT_FORBIDDEN_PATHS: readonly string[] = [
  "/etc",
  "/root",
  "/home",
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/opt",
  "/boot",
  "/dev",
  "/proc",
  "/sys",
  "/var",
  "/tmp",
  "~/.ssh",
  "~/.gnupg",
  "~/.aws",
  "~/.config",
];
