import type { NetworkSettings } from "../../network/settings.ts";
import type { LimitSettings } from "./limits.ts";

export interface SandboxOptions {
  /** True: without a working sandbox nothing runs. Default false: commands then run without one. */
  readonly required?: boolean;
  /** For private temporary files and caches. Commands see nothing of it but these. */
  readonly folder: string;
  /** Folders that may be written beside the working directory; absolute or with ~. Default: none. */
  readonly writable?: readonly string[];
  /** Paths hidden beside the usual secrets, absolute or with ~. Default: none. */
  readonly hidden?: readonly string[];
  /** Whether a path may not be written even inside a writable folder. Default: none, but what leads git to other programs. */
  readonly isProtected?: (path: string) => boolean;
  /** Whether a path in a writable folder is hidden from commands that hide sensitive files (`Needs.hideSensitive`). Default: none. */
  readonly isSensitive?: (path: string) => boolean;
  /** A home beside the backend's whose secrets are hidden too. Default: that of the password database. */
  readonly accountHome?: string;
  /** What no grant lets through. */
  readonly network?: NetworkSettings;
  readonly limits?: LimitSettings;
}
