import type { SandboxMode } from "../core/contract/containment.ts";
import type { Autonomy } from "../core/contract/policy.ts";
import type { TargetKind } from "../core/contract/target.ts";
import type { DefinitionFormat } from "../core/contract/toolkit.ts";
import type { Io } from "./io.ts";
import type { DebugLog } from "./log.ts";

/** The options of every command. They have no defaults here: the files apply to options that are not given. */
export interface GlobalOptions {
  readonly io: Io;
  /** The words of the command line. */
  readonly words?: readonly string[];
  readonly config?: string;
  readonly preset?: string;
  readonly workDir?: string;
  /** A target on another system, as a flag of its kind names it. Default: this machine. */
  readonly target?: string;
  /** Kinds of targets in addition to the built-in ones. */
  readonly targets?: readonly TargetKind[];
  readonly tmux?: true;
  readonly tmuxSession?: string;
  readonly autonomy?: Autonomy;
  readonly sandbox?: SandboxMode;
  readonly yes?: true;
  readonly logFile?: string;
  /** The log that `logFile` or the configuration asks for. */
  readonly log?: DebugLog;
}

/** The options of commands that start an agent. */
export interface AgentOptions extends GlobalOptions {
  readonly model?: string;
  readonly baseUrl?: string;
  readonly agent?: string;
  /** `true` if no id was given. */
  readonly resume?: string | true;
  readonly continue?: true;
  /** A worktree for the session: its name, or `true` for a new one. */
  readonly worktree?: string | true;
  readonly showPrompt?: true;
  readonly maxRounds?: number;
  readonly maxTime?: number;
  readonly maxTokens?: number;
  readonly maxCost?: number;
  /** Lines of words, and nothing is redrawn. */
  readonly plain?: true;
}

/** The values of `handrail tools --format`. */
export const TOOL_FORMATS: readonly ("table" | DefinitionFormat)[] = [
  "table",
  "json",
  "openai",
  "openai-responses",
  "anthropic",
  "gemini",
  "mcp",
];

/** Languages of the plugins that `handrail plugin new` copies. */
export const LANGUAGES = ["js", "python", "go", "bash"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The programs whose files `handrail mcp install` writes. */
export const MCP_CLIENT_NAMES = ["claude-code", "cursor", "vscode", "zed", "goose", "opencode", "opencode-1"] as const;
