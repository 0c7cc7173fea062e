import { statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ToolFailure } from "../../core/contract/failure.ts";
import { realPath } from "../programs/places.ts";
import { ProgramMissing, findProgram, foundProgram } from "../programs/programs.ts";
import { tried } from "../../core/util/errors.ts";
import { isExecutable } from "../../core/util/executable.ts";

/**
 * The binary of the package, as it was when this process loaded Handrail: before any tool ran. It belongs to the same
 * installation, so it is trusted as Handrail's code is, in a workspace too, until it changes.
 */
const packaged = findPackaged(dirname(fileURLToPath(import.meta.url)));

/**
 * The path of ripgrep: of the package, otherwise of one on the PATH.
 *
 * @param isContained True: it runs where it can do no harm, so that tools may be able to write it. Default: false.
 * @throws ToolFailure if neither exists where no tool can write.
 */
export function ripgrepPath(isContained = false): string {
  const { path = "", version } = packaged ?? {};
  if (path !== "" && (isContained || versionOf(path) === version || foundProgram(path) !== undefined)) return path;
  try {
    return findProgram("rg").path;
  } catch (error) {
    const onlyIn = error instanceof ProgramMissing && error.onlyIn !== undefined ? error.message : undefined;
    if (onlyIn !== undefined) throw new ToolFailure(onlyIn, { cause: error, hint: INSTALL });
    if (path !== "") throw new ToolFailure(whyClosed(path), { cause: error, hint: INSTALL });
    throw new ToolFailure(
      "ripgrep is missing: its package has no binary for this system, and there is none on the PATH",
      { hint: `Install the package @vscode/ripgrep with its optional dependencies, or ripgrep itself ${BY}.` },
    );
  }
}

const BY = "(apt install ripgrep, brew install ripgrep)";
const INSTALL = `Install ripgrep itself ${BY}, or Handrail outside of the workspace (npm install --global).`;

const whyClosed = (path: string) =>
  `ripgrep (${path}) has changed since Handrail started, where tools can write, so Handrail does not start it`;

/** Looks for the package as Node.js does, from a folder upwards: the packages with the binaries are beside it. */
function findPackaged(folder: string): { readonly path: string; readonly version: string } | undefined {
  const found = join(folder, "node_modules/@vscode/ripgrep");
  const beside = dirname(realPath(found));
  const path = realPath(join(beside, `ripgrep-${process.platform}-${process.arch}`, "bin/rg"));
  const version = versionOf(path);
  if (version !== undefined && isExecutable(path)) return { path, version };
  return folder === dirname(folder) ? undefined : findPackaged(dirname(folder));
}

/** Changes with every change of the file: the time of its last change cannot be set. */
function versionOf(path: string): string | undefined {
  const info = tried(() => statSync(path, { bigint: true }));
  return info && `${info.dev} ${info.ino} ${info.size} ${info.ctimeNs}`;
}
