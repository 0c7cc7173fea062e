// A small environment for the sandbox: a workspace, a home with secrets, and what is next to them.
import { accessSync, constants, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { local } from "../../../src/machine/local/backend.ts";
import type { SandboxOptions } from "../../../src/machine/sandbox/options.ts";
import { sandbox } from "../../../src/machine/sandbox/sandbox.ts";
import type { Backend, Command, Exit } from "../../../src/core/contract/backend.ts";
import type { Refusal } from "../../../src/core/contract/containment.ts";
import { systemProgram } from "../../../src/machine/sandbox/programs.ts";
import { isInside } from "../../../src/core/util/paths.ts";
import { afterFile } from "../../support/after-file.ts";
import { removeWhole } from "../../support/workspace.ts";
import { cacheFolder } from "../../../scripts/lib/project.mjs";

/** Returns why nothing can be contained on this machine; `undefined` if it can. */
export const noSandbox =
  process.platform === "linux" && systemProgram("bwrap") !== undefined ? undefined : "bubblewrap is not installed";

export interface Ran {
  readonly exit: Exit;
  readonly output: string;
  readonly errors: string;
  readonly refusals: readonly Refusal[];
}

export interface World {
  readonly root: string;
  readonly workDir: string;
  readonly home: string;
  readonly folder: string;
  readonly backend: Backend;
  file(path: string, content?: string): string;
  bash(script: string, command?: Omit<Command, "argv">): Promise<Ran>;
  again(options?: Partial<SandboxOptions>): Promise<World>;
}

export interface WorldOptions extends Partial<SandboxOptions> {
  /** Below the root. Default "ws". */
  readonly workDir?: string;
  readonly home?: string;
  readonly root?: string;
  readonly passEnv?: readonly string[];
}

const roots: string[] = [];
afterFile(() => {
  for (const root of roots.splice(0)) removeWhole(root);
});

/** A folder for a world. Not under /tmp, which is replaced inside. */
export function worldFolder(): string {
  const places = [cacheFolder, homedir(), "/home", "/srv"].filter((place) => !isReplaced(place));
  const folder = places.find(isWritable) ?? homedir();
  const root = realpathSync(mkdtempSync(join(folder, "handrail-test-")));
  roots.push(root);
  return root;
}

/** The checkout and the home can be anywhere. */
function isReplaced(folder: string): boolean {
  return ["/tmp", "/var/tmp", "/run", "/dev/shm"].some((replaced) => isInside(folder, replaced));
}

function isWritable(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true });
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

export async function world({
  root = worldFolder(),
  workDir: work = "ws",
  home: homeName = "home",
  passEnv = [],
  ...options
}: WorldOptions = {}): Promise<World> {
  const [workDir, home, folder] = [join(root, work), join(root, homeName), join(root, "sandbox")];
  mkdirSync(workDir, { recursive: true });
  mkdirSync(home, { recursive: true });
  const inner = await local({
    workDir,
    home,
    passEnv,
    outputFolder: join(root, "outputs"),
  });
  const backend = await sandbox(inner, { folder, required: true, ...options });
  return {
    root,
    workDir,
    home,
    folder,
    backend,
    file(path, content = "content\n") {
      const at = path.startsWith("/") ? path : join(root, path);
      mkdirSync(dirname(at), { recursive: true });
      writeFileSync(at, content);
      return at;
    },
    bash: (script, command) => run(backend, ["bash", "--noprofile", "--norc", "-c", script], command),
    again: (more) => world({ root, workDir: work, home: homeName, ...options, ...more }),
  };
}

export async function run(backend: Backend, argv: Command["argv"], command: Omit<Command, "argv"> = {}): Promise<Ran> {
  const child = await backend.spawn({ argv, ...command });
  const exit = await child.exit;
  const refusals = (await child.refusals) ?? [];
  const text = async (log = child.output) => Buffer.from(await log.read(0, log.kept)).toString();
  const ran = {
    exit,
    refusals,
    output: await text(),
    errors: child.errors === undefined ? "" : await text(child.errors),
  };
  await Promise.all([child.output.dispose(), child.errors?.dispose()]);
  return ran;
}
