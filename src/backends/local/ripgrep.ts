import { ToolFailure } from "../../contract/failure.ts";
import { isExecutable, onPath } from "../../util/executable.ts";

let ripgrep: string | undefined;

/** The path of ripgrep: of the package, otherwise of one on the PATH. @throws ToolFailure if neither exists. */
export async function ripgrepPath(): Promise<string> {
  ripgrep ??= (await packaged()) ?? onPath("rg");
  if (ripgrep !== undefined) return ripgrep;
  throw new ToolFailure(
    "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
    {
      hint:
        "Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself " +
        "(apt install ripgrep, brew install ripgrep).",
    },
  );
}

/** Importing the package throws if its binary is not installed. */
async function packaged(): Promise<string | undefined> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return isExecutable(rgPath) ? rgPath : undefined;
  } catch {
    return undefined;
  }
}
