// Work on projects in the sandbox: a folder for each, with a home next to the workspace, and the result of each
// command.
import { spawn } from "node:child_process";
import {
  accessSync,
  constants,
  cpSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterFile } from "../../support/after-file.ts";
import { projectRoot } from "../../../scripts/lib/project.mjs";
import { isInside } from "../../../src/core/util/paths.ts";
import { DEFAULT_FORBIDDEN_PATHS } from "../../../src/policy/policy-settings.ts";

/** A command as the bash tool takes it. */
export interface Step {
  readonly command: string;
  readonly network?: readonly string[];
  /** True if it must fail. Default false. */
  readonly fails?: boolean;
}

export interface Done {
  readonly command: string;
  /** `null` if it did not run to its end. */
  readonly code: number | null;
  readonly output: string;
  readonly asked: readonly { readonly reason?: string; readonly about: readonly string[] }[];
}

export interface ProjectRun {
  readonly root: string;
  readonly done: readonly Done[];
  /** Steps that did not end as expected, with their output. */
  readonly wrong: readonly string[];
  /** The questions, in words. */
  readonly questions: readonly string[];
  /** What is new outside the workspace and the toolkit's own folder. */
  readonly leftBehind: readonly string[];
}

export interface ProjectOptions {
  /** The folder of test/fixtures/projects that is copied to the workspace. Default: an empty workspace. */
  readonly fixture?: string;
  readonly files?: { readonly [path: string]: string };
  readonly steps: readonly Step[];
  /** Folders that come first on the PATH. */
  readonly programs?: readonly string[];
  /** A host that may have a private address. */
  readonly allowPrivate?: readonly string[];
  readonly ports?: readonly number[];
  /** The id of an ordinary user of this machine. Default: the user who runs the tests. */
  readonly user?: number;
}

const FIXTURES = fileURLToPath(new URL("../../fixtures/projects", import.meta.url));

/** The person's configuration; the filter is what `git lfs install` writes. */
const GIT_CONFIG = `[user]
	name = Ada
	email = ada@example.org
[init]
	defaultBranch = main
[filter "lfs"]
	clean = git-lfs clean -- %f
	smudge = git-lfs smudge -- %f
	process = git-lfs filter-process
	required = true
`;

const roots: string[] = [];
afterFile(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true, force: true });
});

/** Works on a project from a clean state: only `.gitconfig` is in the home. */
export async function runProject({
  fixture,
  files = {},
  steps,
  programs = [],
  allowPrivate = [],
  ports = [],
  user,
}: ProjectOptions): Promise<ProjectRun> {
  const root = projectFolder(user);
  const [workDir, home, stateDir, program] = ["ws", "home", "state", "program"].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [workDir, home, stateDir, program]) mkdirSync(folder);
  if (fixture !== undefined) cpSync(join(FIXTURES, fixture), workDir, { recursive: true });
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(workDir, path)), { recursive: true });
    writeFileSync(join(workDir, path), content);
  }
  writeFileSync(join(home, ".gitconfig"), GIT_CONFIG);
  // Another user may have no access to this checkout.
  cpSync(join(projectRoot, "dist"), join(program, "dist"), {
    recursive: true,
    filter: (path) => !path.endsWith("/types"),
  });
  cpSync(join(FIXTURES, "run.mjs"), join(program, "run.mjs"));
  if (user !== undefined) giveTo(user, root);
  const before = everythingIn(root);

  const argv = [process.execPath, join(program, "run.mjs")];
  const [first = "", ...rest] =
    user === undefined ? argv : ["setpriv", `--reuid=${user}`, `--regid=${user}`, "--clear-groups", ...argv];
  const child = spawn(first, rest, {
    cwd: workDir,
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      PATH: [...programs, process.env["PATH"] ?? ""].join(":"),
      HOME: home,
      XDG_STATE_HOME: stateDir,
      LANG: "C.UTF-8",
    },
  });
  const job = {
    library: join(program, "dist", "index.js"),
    options: {
      workDir,
      stateDir: join(stateDir, "handrail"),
      policy: {
        forbiddenPaths: DEFAULT_FORBIDDEN_PATHS.filter((path) => path.startsWith("~") || !isInside(root, path)),
        network: { allowPrivate, ports },
      },
    },
    steps: steps.map(({ fails: _, ...step }) => step),
  };
  child.stdin.end(JSON.stringify(job));
  const said = await text(child.stdout);
  const done = JSON.parse(said) as readonly Done[];
  return {
    root,
    done,
    wrong: done.flatMap(({ command, code, output }, at) =>
      code !== null && (code !== 0) === (steps[at]?.fails ?? false) ? [] : [`$ ${command}\n${output}`],
    ),
    questions: done.flatMap(({ command, asked }) =>
      asked.map(({ about, reason = "" }) => `${command}: ${about.join(", ") || reason}`),
    ),
    leftBehind: everythingIn(root).filter((path) => !before.includes(path)),
  };
}

/** Not below /tmp, which is replaced inside, nor below a node_modules, where npm and test runners see no project. */
function projectFolder(user: number | undefined): string {
  const places = user === undefined ? [homedir(), "/home", "/srv"] : ["/home", "/srv"];
  const place = places.find(isWritable) ?? homedir();
  const root = realpathSync(mkdtempSync(join(place, "handrail-test-")));
  roots.push(root);
  return root;
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function giveTo(user: number, root: string): void {
  lchownSync(root, user, user);
  for (const path of readdirSync(root, { recursive: true, encoding: "utf8" })) lchownSync(join(root, path), user, user);
}

/** Lists everything except the workspace and the toolkit's own folder. */
function everythingIn(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter((path) => !/^(ws|state)\//.test(path));
}
