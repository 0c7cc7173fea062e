import type { Command, ScriptShell } from "../../contract/backend.ts";

/** What runs a script in the shell, without any configuration of a person's. */
export function scriptCommand(shell: ScriptShell, script: string): Command["argv"] {
  return shell === "bash" ? ["bash", "--noprofile", "--norc", "-c", script] : ["sh", "-c", script];
}
