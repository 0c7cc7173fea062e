import type { Command, Process } from "./backend.ts";
import type { Tool } from "./tool.ts";

/** Tools that can change while a toolkit runs: those of a plugin, of an MCP server, or of a program. */
export interface ToolSource {
  /** Unique in a toolkit: "plugin:weather", "mcp:github". It is the `from` of effects; errors and notices name it. */
  readonly name: string;
  /**
   * Starts the source. Called once; the toolkit does not wait for it. Resolves when the first tools are set, or when it
   * is known that the source has no tools. Must not reject: a source that cannot start reports why with `host.notice`.
   * (If it rejects, its error becomes the notice.)
   */
  start(host: ToolSourceHost): Promise<void>;
  /**
   * Releases its resources. Called once, when the toolkit is closed; then the toolkit ends the processes that the
   * source started. Must not reject.
   */
  close(): Promise<void>;
}

/** What a toolkit provides to a source. */
export interface ToolSourceHost {
  /** The workspace: the toolkit's working directory if that is on this machine, otherwise the current folder. */
  readonly workDir: string;
  /** Fires when the toolkit is closed. */
  readonly signal: AbortSignal;
  /**
   * Starts a program on this machine, whatever the toolkit's target. The program, and everything that it starts, ends
   * with the toolkit at the latest. Its streams are live (`Command.streams`): write with `write`, read with
   * `output.follow()`; `errors` keeps the end of stderr. Its environment is the clean one of commands plus `env`,
   * without variables passed to commands. Rejects with a `ToolFailure` when the program cannot be started, or cannot be
   * contained as `within` requires.
   */
  start(program: SourceProgram): Promise<Process>;
  /**
   * Replaces the source's tools. A tool with an invalid name or schema, or with a name that is taken, is omitted with a
   * notice. Ignored after the toolkit is closed.
   */
  set(tools: readonly Tool[]): void;
  /**
   * Reports something about the source to people and the model: a sentence that names it. Secrets are masked and long
   * texts truncated. Never throws.
   */
  notice(text: string): void;
  /** Masks secrets in a text. Results, notices and records are masked anyway; log texts are not. */
  readonly mask: (text: string) => string;
}

/**
 * A program that a source starts. Default of `cwd`: in the sandbox the workspace; outside the sandbox a private folder,
 * because programs such as npx run code from the folder they start in. `HANDRAIL_WORKSPACE` names the workspace. A
 * program whose path is relative is found from the workspace.
 */
export type SourceProgram = Pick<Command, "argv" | "cwd" | "env"> &
  /** "none": outside the sandbox. `{}`: in the sandbox, with access to the workspace only. */
  Required<Pick<Command, "within">>;
