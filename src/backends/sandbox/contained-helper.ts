import type { Command, HelperOptions, HelperProgram, Process } from "../../contract/backend.ts";
import type { Needs } from "../../contract/containment.ts";
import { HELPER_FOLDER, helperCommand } from "../local/helper.ts";
import { realOf } from "./hidden.ts";

/**
 * Starts a helper in the sandbox, where it finds the session's own temporary folders at their usual paths, and prints those. It writes nothing.
 * Rejects with a `ToolFailure` when there is no such program.
 */
export async function containedHelper(
  program: HelperProgram,
  args: readonly string[],
  { paths, except = [], signal }: HelperOptions,
  spawn: (command: Command, needs: Needs) => Promise<Process>,
): Promise<Process> {
  const [file, ...words] = await helperCommand(program, args, paths, except);
  const real = realOf(file);
  const child = await spawn(
    {
      argv: [real, ...words],
      cwd: HELPER_FOLDER,
      env: { RIPGREP_CONFIG_PATH: "" }, // nothing of the user's
      streams: "split",
      stdin: paths.length === 0 ? "pipe" : "closed",
      ...(signal !== undefined && { signal }),
    },
    { readOnly: true, read: [real] },
  );
  // What it could not read is in its own complaints, and no command was refused it.
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    exit: child.exit,
    write: (text) => child.write(text),
    endInput: () => child.endInput(),
    kill: () => child.kill(),
  };
}
