import type { Autonomy } from "../core/contract/policy.ts";
import type { NetworkSettings } from "../machine/network/network-settings.ts";
import { KEY_FOLDERS } from "../machine/places/keys.ts";

/** What people may set about the policy. Paths are absolute or start with `~`. */
export interface PolicySettings {
  /** Default "supervised". */
  readonly autonomy?: Autonomy;
  /**
   * True (the default): paths outside the workspace and the allowed roots are denied. False: people are asked, but not
   * with the autonomy "full".
   */
  readonly workspaceOnly?: boolean;
  /** Folders that may be used like the workspace. */
  readonly allowedRoots?: readonly string[];
  /** Files and folders that may not be touched. Default: `DEFAULT_FORBIDDEN_PATHS`. */
  readonly forbiddenPaths?: readonly string[];
  /** The user's own rules: deny before ask before allow. Default: none. */
  readonly commands?: CommandRules;
  /** True (the default): a command of high risk is refused. False: it is judged like any other. */
  readonly blockHighRiskCommands?: boolean;
  /** True (the default): supervised autonomy asks about a command of medium risk. False: it does not. */
  readonly requireApprovalForMediumRisk?: boolean;
  /** Acts per sliding hour. 0 allows none. Default: no limit. */
  readonly maxActionsPerHour?: number;
  /** True: every command is asked about, whatever its risk and the autonomy. Default false. */
  readonly shellConfirm?: boolean;
  /**
   * Which contained commands are asked about. "nothing" (the default): no command. "all": the commands that would be
   * asked about outside the sandbox.
   */
  readonly askInSandbox?: AskInSandbox;
  /**
   * True: what file tools may not read because it is forbidden, a contained command may not name either. False (the
   * default): it may name the system folders of the default list, which the sandbox shows read-only.
   */
  readonly forbiddenInSandbox?: boolean;
  /**
   * True: a person administers this machine with the tools. Commands of high risk are asked about in every autonomy,
   * never refused, and run outside the sandbox. What only reads runs unasked outside the workspace too, except keys,
   * secrets and files that only their owner may read; and so do commands that only look at the machine (`ps aux`).
   * Default false.
   */
  readonly wholeMachine?: boolean;
  readonly network?: NetworkSettings;
}

/** The settings with which paths outside the workspace are asked about, where they would be refused. */
export function askingOutside(settings: PolicySettings): PolicySettings {
  if (settings.workspaceOnly === false) return settings;
  return { ...settings, workspaceOnly: false, autonomy: "supervised", wholeMachine: false };
}

export const ASK_IN_SANDBOX = ["nothing", "all"] as const;
export type AskInSandbox = (typeof ASK_IN_SANDBOX)[number];

/** Rules by their verdict. Each is a text (`npm run test:*`, `Bash(git push *)`) or an object with examples. */
export interface CommandRules {
  /** Commands that run without a question. The list changes nothing for other commands. */
  readonly allow?: readonly (string | CommandRule)[];
  /** If not empty, a command that matches neither `only` nor `allow` is denied. `only` itself allows nothing. */
  readonly only?: readonly (string | CommandRule)[];
  readonly ask?: readonly (string | CommandRule)[];
  readonly deny?: readonly (string | CommandRule)[];
}

/** A rule with examples, which are checked when it is read. */
export interface CommandRule {
  readonly rule: string;
  /** Commands, paths or URLs that the rule must match. */
  readonly match?: readonly string[];
  /** Commands, paths or URLs that the rule must not match. */
  readonly not_match?: readonly string[];
}

// Seed 003's list: system folders, other people's homes, and where keys are kept. A workspace inside such a folder is
// the longer match and stays usable.
export const DEFAULT_FORBIDDEN_PATHS: readonly string[] = [
  ..."/etc /root /home /usr /bin /sbin /lib /opt /boot /dev /proc /sys /var /tmp".split(" "),
  ...KEY_FOLDERS,
];
