import type { Store } from "./activity.ts";
import type { Backend } from "./backend.ts";

/**
 * A kind of target other than this machine: how it is named and opened. The flags of the command line, `handrail
 * doctor`, the help and messages are derived from it. To add one to Handrail: a folder in `src/machine/` and a line in
 * `src/machine/targets.ts`.
 */
export interface TargetKind {
  /** The part before the colon of its targets: ["ssh"] for "ssh:deploy@host". */
  readonly schemes: readonly [string, ...string[]];
  /** The form of the part after the colon, for messages: "[USER@]HOST". */
  readonly address: string;
  /**
   * Opens the backend of a target.
   *
   * @throws ToolFailure when the target cannot be reached, or its working directory does not exist.
   */
  open(target: TargetAddress, options: TargetOptions): Promise<Backend>;
  /** Texts and flag for the command line. Default: none, and no flag for this kind. */
  readonly commandLine?: TargetCommandLine;
  /**
   * Whether commands may be contained on the target. "itself": it contains them. "by-shell": Handrail contains them
   * through its shell, if the target has bubblewrap. Default: they are not.
   */
  readonly contains?: "itself" | "by-shell";
}

/** The two parts of a target. */
export interface TargetAddress {
  readonly scheme: string;
  readonly address: string;
}

/** Options for opening a backend on another system. */
export interface TargetOptions {
  /** A folder of the target. Default: the folder in which a login starts. */
  readonly workDir?: string;
  /** Variables of the target that commands get besides the harmless ones. */
  readonly passEnv?: readonly string[];
  /** A folder on this machine, for command output that is too big for memory. */
  readonly outputFolder: string;
  /** Backends with the same owner share their detached processes. */
  readonly detachedOwner: string;
  /** The store of the toolkit: it knows the workers. */
  readonly store?: Pick<Store, "workers">;
}

/** How people name targets of this kind at a shell, and how they find out why a target does not work. */
export interface TargetCommandLine {
  /** As commander writes an option: "--ssh <target>". Its value is an address, or a whole target ("podman:web"). */
  readonly flag: string;
  /** For help: "work on a host over SSH: user@host". */
  readonly description: string;
  /** For `handrail doctor`: "work on a host with --ssh user@host". */
  readonly use: string;
  /** What this machine needs to reach targets of the kind: "ssh". */
  readonly program: string;
  /** The package that contains the program: "openssh-client". */
  readonly package: string;
  /** Checks whether the program works on this machine. */
  look(): Promise<TargetProgram>;
  /** The command that shows why a target cannot be reached: "ssh deploy@host true". */
  fix(target: TargetAddress): string;
}

/**
 * Whether a program works. `detail` is its version or the reason; `fix` is what to type, by default the command that
 * installs the package.
 */
export interface TargetProgram {
  readonly works: boolean;
  readonly detail: string;
  readonly fix?: string;
}
