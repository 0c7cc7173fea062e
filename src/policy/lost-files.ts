import type { Backend } from "../core/contract/backend.ts";
import type { Policy } from "../core/contract/policy.ts";
import { absolutePath } from "../core/util/paths.ts";

/** A quick look for what removes files, before a script is parsed. */
const MAY_REMOVE = /\b(rm|rmdir|unlink|rimraf|trash|shred|srm|find|fd)\b/;

/**
 * Asks about a command whose words remove files that undo does not keep.
 *
 * @param lossOf says which files below these absolute paths are not kept; `undefined`: all are
 */
export function lostFilesPolicy(
  { workDir, home }: Pick<Backend, "workDir" | "home">,
  lossOf: (paths: readonly string[]) => Promise<string | undefined>,
): Policy {
  return async ({ effects }) => {
    for (const effect of effects) {
      if (effect.kind !== "exec" || !MAY_REMOVE.test(effect.command)) continue;
      const { removedPaths } = await import("./commands/never-run.ts"); // the shell grammar is loaded for commands only
      const cwd = effect.real ?? absolutePath(effect.cwd ?? ".", { workDir, home });
      const removed = removedPaths(effect.command, { home }).map(({ path, folder = "" }) =>
        absolutePath(path, { workDir: absolutePath(folder, { workDir: cwd, home }), home }),
      );
      const loss = removed.length === 0 ? undefined : await lossOf(removed);
      if (loss === undefined) continue;
      const reason = `Command requires approval: it removes what undo does not keep: ${loss}`;
      return { verdict: "ask", risk: "high", rule: "not_kept", reason };
    }
    return undefined;
  };
}
