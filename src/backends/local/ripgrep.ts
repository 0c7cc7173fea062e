import { ToolFailure } from "../../contract/failure.ts";
import { ProgramMissing, findProgram, foundProgram } from "../../machine/programs.ts";
import { isExecutable } from "../../util/executable.ts";

/** The path of the package's binary; "" if there is none. */
let ofPackage: string | undefined;

/**
 * The path of ripgrep: of the package, otherwise of one on the PATH.
 *
 * @param isContained True: it runs where it can do no harm, so that tools may be able to write it. Default: false.
 * @throws ToolFailure if neither exists where no tool can write.
 */
export async function ripgrepPath(isContained = false): Promise<string> {
  ofPackage ??= await packaged();
  if (ofPackage !== "" && (isContained || foundProgram(ofPackage) !== undefined)) return ofPackage;
  try {
    return findProgram("rg").path;
  } catch (error) {
    const onlyIn = error instanceof ProgramMissing && error.onlyIn !== undefined ? error.message : undefined;
    if (onlyIn !== undefined) throw new ToolFailure(onlyIn, { cause: error, hint: INSTALL });
    if (ofPackage !== "") throw new ToolFailure(whyClosed(ofPackage), { cause: error, hint: INSTALL });
    throw new ToolFailure(
      "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
      { hint: `Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself ${BY}.` },
    );
  }
}

const BY = "(apt install ripgrep, brew install ripgrep)";
const INSTALL = `Install ripgrep itself ${BY}, or Handrail outside of the workspace (npm install --global).`;

const whyClosed = (path: string) => `ripgrep is only ${path}, where tools can write, so Handrail does not start it`;

/** Importing the package throws if its binary is not installed. */
async function packaged(): Promise<string> {
  try {
    const { rgPath } = await import("@vscode/ripgrep");
    return isExecutable(rgPath) ? rgPath : "";
  } catch {
    return "";
  }
}
