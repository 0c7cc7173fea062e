import type { NetworkSettings } from "../network/network-settings.ts";
import type { LimitSettings } from "./limits/limits.ts";
import type { SearchPace } from "./mounts/protected.ts";

/** The folder of the saved outputs inside the sandbox. */
export const OUTPUTS_INSIDE = "/run/handrail-outputs";

export interface SandboxOptions {
  /** True: no command runs without a working sandbox. Default: false; commands then run without one. */
  readonly required?: boolean;
  /** Folder for private temporary files and caches. Commands see nothing else in it. */
  readonly folder: string;
  /** Folders that may be written besides the working directory; absolute or with ~. Default: none. */
  readonly writable?: readonly string[];
  /** Paths that are hidden besides the usual secrets; absolute or with ~. Default: none. */
  readonly hidden?: readonly string[];
  /** Whether a path is read-only even in a writable folder. Default: only paths that lead git to programs. */
  readonly isProtected?: (path: string) => boolean;
  /** Whether a path in a writable folder is hidden with `SandboxAccess.hideSensitive`. Default: none. */
  readonly isSensitive?: (path: string) => boolean;
  /** A second home whose secrets are hidden too. Default: the account's home in the password database. */
  readonly accountHome?: string;
  /** The user's network settings. They also limit what a grant opens. */
  readonly network?: NetworkSettings;
  readonly limits?: LimitSettings;
  /** The folder of the session's saved outputs, which commands without a network can read. Default: none. */
  readonly outputs?: string;
  /** How long the first command waits until the workspace has been searched for protected files. */
  readonly search?: SearchPace;
  /** True: only one command runs in the sandbox, so no shared network is prepared. Default false. */
  readonly oneCommand?: boolean;
}
