import type { Command, Exit, ScriptShell } from "../../core/contract/backend.ts";
import type { Containment, Sandboxed } from "../../core/contract/containment.ts";
import { type Content, text } from "../../core/contract/content.ts";
import type { Effect } from "../../core/contract/effect.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { Lifetime } from "../../core/contract/lifetime.ts";
import type { ToolOptions } from "../../core/contract/tool.ts";
import { COMMAND_NAMES } from "./other-agents.ts";

/** Options of a tool that runs scripts. */
export interface ScriptOptions extends ToolOptions {
  /** Whether commands run in a live terminal, where they continue after their time. Default false. */
  readonly terminal?: boolean;
  /** Whether commands run in a sandbox. If so, adds arguments that ask the sandbox for access. Default false. */
  readonly sandboxed?: Sandboxed;
  /** The shell that runs the script: "sh" on a target without bash. Default "bash". */
  readonly shell?: ScriptShell;
}

/** What every tool that runs scripts declares. */
export const RUNS_SCRIPTS = { title: "Run command", aliases: COMMAND_NAMES, touches: ["exec"] } as const;

/** The argument vector that runs a script, without the user's shell configuration. */
export function scriptCommand(shell: ScriptShell, script: string): Command["argv"] {
  return shell === "bash" ? ["bash", "--noprofile", "--norc", "-c", script] : ["sh", "-c", script];
}

/** The effect of running a script. */
export function execEffect(
  command: string,
  within: Containment | undefined,
  lifetime: Lifetime = "call",
): Extract<Effect, { kind: "exec" }> {
  return {
    kind: "exec",
    command,
    ...(lifetime !== "call" && { lifetime }),
    ...(within !== undefined && { within }),
  };
}

/** How a command ended that ended by itself. */
type Ended = Extract<Exit, { how: "exited" | "signaled" }>;

/** How a command ended, in words. `timeoutMs` is the command's timeout. */
export function endingText(exit: Exit, timeoutMs = 0): string {
  switch (exit.how) {
    case "exited":
      return `Exit code: ${exit.code}`;
    case "signaled":
      return `Killed by signal: ${exit.signal}`;
    case "timed-out":
      return `the command did not finish within ${timeoutMs / 1_000} s and was stopped`;
    case "aborted":
      return "the command was stopped";
    case "lost":
      return `the exit status of the command is unknown: ${exit.reason}`;
  }
}

export function hasEnded(exit: Exit): exit is Ended {
  return exit.how === "exited" || exit.how === "signaled";
}

/**
 * Requires that a command ended by itself.
 *
 * @param afterTimeout What to do after a timeout.
 * @throws ToolFailure with the output so far, when it was stopped or its exit status is unknown.
 */
export function requireEnded(
  exit: Exit,
  { timeoutMs, afterTimeout, output }: { timeoutMs: number | undefined; afterTimeout: string; output: string },
): Ended {
  if (hasEnded(exit)) return exit;
  const lost = "It may have done part of its work. Check that before you run it again.";
  const hint = { "timed-out": afterTimeout, lost, aborted: undefined }[exit.how];
  throw new ToolFailure(endingText(exit, timeoutMs), {
    content: contentOf(output),
    ...(hint !== undefined && { hint }),
  });
}

/** The content of a result with this text; no content for "". */
export function contentOf(output: string): readonly Content[] {
  return output === "" ? [] : [text(output)];
}
