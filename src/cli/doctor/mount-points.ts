import { existsSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { local } from "../../machine/local/backend.ts";
import { systemProgram } from "../../machine/sandbox/programs.ts";
import { type Finding, inTemporaryFolder } from "./check.ts";
import { outputOf } from "./output-of.ts";

const ADVISORY = "GHSA-pxhw-h44j-8pfx";

/**
 * Tries whether bubblewrap creates a mount point outside, through a link that a command planted in its workspace. Its
 * versions do not say it: distributions mend old ones.
 */
export async function mountPoints(signal: AbortSignal): Promise<Finding> {
  const bwrap = process.platform === "linux" ? systemProgram("bwrap") : undefined;
  if (bwrap === undefined) return { status: "ok", detail: "there is no bubblewrap here" };
  return await inTemporaryFolder(async (folder) => {
    const [workspace, outside] = [join(folder, "workspace"), join(folder, "outside")];
    await Promise.all([mkdir(workspace), mkdir(outside)]);
    await symlink(`/oldroot${outside}`, join(workspace, "link")); // where bubblewrap keeps the system while it mounts
    const mounts = ["--ro-bind", "/", "/", "--bind", workspace, workspace, "--tmpfs", join(workspace, "link", "made")];
    const backend = await local({ workDir: folder, outputFolder: join(folder, "outputs") });
    try {
      await outputOf(backend, [bwrap, ...mounts, "true"], signal);
    } finally {
      await backend.close();
    }
    if (!existsSync(join(outside, "made")))
      return { status: "ok", detail: `bubblewrap follows no planted link out (${ADVISORY})` };
    const detail =
      `bubblewrap follows a planted link out when it creates a mount point (${ADVISORY}). Handrail mounts only at real ` +
      "paths that exist when a command starts, so a command would have to replace a folder in that moment, and could " +
      "then cause an empty file or folder outside, no more. A newer bubblewrap closes it";
    return { status: "ok", detail };
  });
}
