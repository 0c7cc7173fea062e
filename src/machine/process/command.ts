import type { Command, Files } from "../../core/contract/backend.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { FOLDER_GONE_HINT } from "../../core/util/folder-gone.ts";

/** The real path of a command's folder. @throws ToolFailure if a real `cwd` now leads elsewhere. */
export async function realCwd(
  { cwd = ".", isRealCwd = false }: Command,
  files: Pick<Files, "realPath">,
): Promise<string> {
  const real = await files.realPath(cwd);
  if (!isRealCwd || real === cwd) return real;
  throw new ToolFailure(`${cwd} now leads to ${real}, which was not approved; nothing was run`, {
    hint: "It was renamed or replaced by a link. Run the command again.",
  });
}

/** Creates the error for a command whose folder is gone. */
export function folderGone(program: string, cwd: string): ToolFailure {
  return new ToolFailure(`cannot start ${program}: there is no folder ${cwd}`, { hint: FOLDER_GONE_HINT });
}

/** The streams of a command on a backend that keeps all output. @throws ToolFailure for live streams. */
export function keptStreams({ argv: [program], streams = "merged" }: Command): "merged" | "split" {
  if (streams !== "live") return streams;
  throw new ToolFailure(`cannot start ${program}: programs with live streams run on this machine only`);
}
