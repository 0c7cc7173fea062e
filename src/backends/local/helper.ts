import { delimiter, join } from "node:path";
import type { Command, HelperProgram } from "../../contract/backend.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { isExecutable } from "../../util/executable.ts";
import { findArguments, ripgrepArguments } from "../helper-arguments.ts";

let ripgrep: string | undefined;

/**
 * How a helper is started on this machine. ripgrep is the one in the package that ships it, else one on the PATH. `except` are real
 * paths that it leaves alone; it then has to run in `HELPER_FOLDER`.
 *
 * @throws ToolFailure when it is not there.
 */
export async function helperCommand(
  program: HelperProgram,
  args: readonly string[],
  paths: readonly string[],
  except: readonly string[] = [],
): Promise<Command["argv"]> {
  // A helper's own PATH is the usual one, where not every system has its find.
  if (program === "find") return [onPath("find") ?? "find", ...findArguments(args, paths, except)];
  return [await ripgrepPath(), ...ripgrepArguments(args, paths, except)];
}

/** Where a helper runs that leaves out something. */
export const HELPER_FOLDER = "/";

async function ripgrepPath(): Promise<string> {
  ripgrep ??= (await packaged()) ?? onPath("rg");
  if (ripgrep !== undefined) return ripgrep;
  throw new ToolFailure(
    "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
    {
      hint: "Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself (apt install ripgrep, brew install ripgrep).",
    },
  );
}

/** The package throws when it is imported where its binary is not installed. */
async function packaged(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return isExecutable(rgPath) ? rgPath : undefined;
  } catch {
    return undefined;
  }
}

function onPath(program: string): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}
