import type { Backend } from "./backend.ts";

/**
 * A kind of target other than this machine: where work can happen, and how it is named. The flags of the command line, `handrail doctor`, help and
 * messages are made from it. To add one to Handrail: a folder in `src/backends/` and a line in `src/backends/targets.ts`.
 */
export interface TargetKind {
  /** What stands before the colon of its targets: ["ssh"] for "ssh:deploy@host". */
  readonly schemes: readonly [string, ...string[]];
  /** What stands behind the colon, for messages: "[USER@]HOST". */
  readonly address: string;
  /**
   * Opens the backend of a target.
   *
   * @throws ToolFailure when it cannot be reached, or its working directory does not exist.
   */
  open(target: TargetAddress, options: TargetOptions): Promise<Backend>;
  /** Without it the command line has no flag for this kind. */
  readonly commandLine?: TargetCommandLine;
}

/** A target, in its two parts. */
export interface TargetAddress {
  readonly scheme: string;
  readonly address: string;
}

/** What a backend on another system is opened with. */
export interface TargetOptions {
  /** A folder of the target. Default: the one in which a login begins. */
  readonly workDir?: string;
  /** Variables of the target that commands get beside the harmless ones. */
  readonly passEnv?: readonly string[];
  /** A folder of this machine, for output of commands that is too big for memory. */
  readonly outputFolder: string;
  /** Backends with the same owner have their detached processes in common. */
  readonly detachedOwner: string;
}

/** How people name targets of a kind at a shell, and find out why one does not work. */
export interface TargetCommandLine {
  /** As commander writes an option: "--ssh <target>". Its value is an address, or a whole target ("podman:web"). */
  readonly flag: string;
  /** For help: "work on a host over SSH: user@host". */
  readonly description: string;
  /** For `handrail doctor`: "work on a host with --ssh user@host". */
  readonly use: string;
  /** What this machine needs to reach targets of the kind: "ssh". */
  readonly program: string;
  /** The package that has it: "openssh-client". */
  readonly package: string;
  /** Looks whether the program works here. */
  look(): Promise<TargetProgram>;
  /** What to type to see why a target cannot be reached: "ssh deploy@host true". */
  fix(target: TargetAddress): string;
}

/** Whether a program works: `detail` has its version, or why not; `fix` is what to type, by default to install the package. */
export interface TargetProgram {
  readonly works: boolean;
  readonly detail: string;
  readonly fix?: string;
}
