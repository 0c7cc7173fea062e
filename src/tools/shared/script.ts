import type { Command, ScriptShell } from "../../contract/backend.ts";

/** The argument vector that runs a script, without the user's shell configuration. */
export function scriptCommand(shell: ScriptShell, script: string): Command["argv"] {
  return shell === "bash" ? ["bash", "--noprofile", "--norc", "-c", script] : ["sh", "-c", script];
}
