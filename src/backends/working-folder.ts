import type { Command, Files } from "../contract/backend.ts";
import { ToolFailure } from "../contract/failure.ts";

/**
 * The real path of the folder in which a command runs.
 *
 * @throws ToolFailure where `cwd` was real when it was given, and leads elsewhere by now.
 */
export async function realCwd(
  { cwd = ".", isRealCwd = false }: Command,
  files: Pick<Files, "realPath">,
): Promise<string> {
  const real = await files.realPath(cwd);
  if (!isRealCwd || real === cwd) return real;
  throw new ToolFailure(`${cwd} leads to ${real} now, which nobody has judged; nothing was run`, {
    hint: "Something has put a link in its place, or renamed it. Run it again.",
  });
}
