import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { local } from "../../src/machine/local/backend.ts";
import type { Toolkit } from "../../src/core/contract/toolkit.ts";
import { isInside } from "../../src/core/util/paths.ts";
import { DEFAULT_FORBIDDEN_PATHS } from "../../src/policy/policy-settings.ts";
import type { ToolkitOptions } from "../../src/app/toolkit-options.ts";
import { temporaryFolder, toolkitWith } from "./workspace.ts";

/**
 * A small environment: a workspace, what is next to it, a home and Handrail's own folder, all in one temporary folder.
 */
export interface Layout {
  readonly root: string;
  /** `root/srv/ws` */
  readonly workDir: string;
  /** `root/home/dev` */
  readonly home: string;
  /** `root/outside`, with a `secret.txt` in it. */
  readonly outside: string;
  /** `root/state` */
  readonly stateDir: string;
  /** The default forbidden paths without those that would include all of this. */
  readonly forbiddenPaths: readonly string[];
  /** Creates a file and its folders. Returns its path. Relative to the workspace. */
  file(path: string, content?: string | Uint8Array): Promise<string>;
  /** Creates a folder. Returns its path. */
  folder(path: string): Promise<string>;
  /** Creates a link to `target`, as written. Returns its path. */
  link(path: string, target: string): Promise<string>;
  /** Creates a toolkit for the workspace (or for another path of it), with the home above. */
  toolkit(options?: ToolkitOptions): Promise<Toolkit>;
}

export async function layout(): Promise<Layout> {
  const root = temporaryFolder();
  const [workDir, home, outside, stateDir] = ["srv/ws", "home/dev", "outside", "state"].map((path) =>
    join(root, path),
  ) as [string, string, string, string];
  const at = (path: string) => join(path.startsWith("/") ? "/" : workDir, path);
  const folder = async (path: string) => {
    await mkdir(at(path), { recursive: true });
    return at(path);
  };
  const file = async (path: string, content: string | Uint8Array = "content\n") => {
    await folder(dirname(at(path)));
    await writeFile(at(path), content);
    return at(path);
  };
  for (const path of [workDir, home, stateDir]) await folder(path);
  await file(join(outside, "secret.txt"), "secret\n");
  return {
    root,
    workDir,
    home,
    outside,
    stateDir,
    forbiddenPaths: DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("~") || !isInside(root, path)),
    file,
    folder,
    async link(path, target) {
      await folder(dirname(at(path)));
      await symlink(target, at(path));
      return at(path);
    },
    async toolkit({ workDir: given = workDir, ...options } = {}) {
      const backend = await local({ workDir: given, home, outputFolder: join(stateDir, "outputs") });
      return toolkitWith({ target: backend, stateDir, ...options });
    },
  };
}
