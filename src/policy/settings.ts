import type { Autonomy } from "../contract/policy.ts";
import type { NetworkSettings } from "../network/settings.ts";

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
  /** Rules of people's own, as they write them: deny before ask before allow. Default: none. */
  readonly commands?: CommandRules;
  /** True (the default): a command of high risk is refused. False: it is judged like any other. */
  readonly blockHighRiskCommands?: boolean;
  /** True (the default): supervised autonomy asks about a command of medium risk. False: it does not. */
  readonly requireApprovalForMediumRisk?: boolean;
  /** Acts in any hour. Default: no limit; 0: none. */
  readonly maxActionsPerHour?: number;
  /** True: every command is asked about, whatever its risk and the autonomy. Default false. */
  readonly shellConfirm?: boolean;
  /** Contained commands that are asked about: "nothing" (the default), or "all" that would be asked without it. */
  readonly askInSandbox?: AskInSandbox;
  readonly network?: NetworkSettings;
}

export const ASK_IN_SANDBOX = ["nothing", "all"] as const;
export type AskInSandbox = (typeof ASK_IN_SANDBOX)[number];

/** Rules by what they say of a call, each a text (`npm run test:*`, `Bash(git push *)`) or one with examples. */
export interface CommandRules {
  /** Commands that run without a question. What is not listed is judged as without them. */
  readonly allow?: readonly (string | CommandRule)[];
  /** Where there are some, a command that neither they nor `allow` match is refused. They allow nothing. */
  readonly only?: readonly (string | CommandRule)[];
  readonly ask?: readonly (string | CommandRule)[];
  readonly deny?: readonly (string | CommandRule)[];
}

/** A rule with examples of its own, which are checked when it is read. */
export interface CommandRule {
  readonly rule: string;
  /** Commands, paths or URLs that it has to match. */
  readonly match?: readonly string[];
  /** Those that it must not match. */
  readonly not_match?: readonly string[];
}

/** Where keys and settings are kept (seed 003's). */
export const KEY_FOLDERS: readonly string[] = ["~/.ssh", "~/.gnupg", "~/.aws", "~/.config"];

// Seed 003's list: system folders, other people's homes, and where keys are kept. A workspace inside one of them is the
// longer match and stays usable.
export const DEFAULT_FORBIDDEN_PATHS: readonly string[] = [
  ..."/etc /root /home /usr /bin /sbin /lib /opt /boot /dev /proc /sys /var /tmp".split(" "),
  ...KEY_FOLDERS,
];
