import { writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { Store } from "../core/contract/activity.ts";
import type { Backend, Process } from "../core/contract/backend.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { SourceProgram } from "../core/contract/tool-source.ts";
import { sandboxModeOn } from "../core/contract/containment.ts";
import { realOf } from "./git/disk.ts";
import { ProgramMissing, findProgram, programPath } from "./programs/programs.ts";
import { isInside } from "../core/util/paths.ts";
import { makePrivateFolder } from "../core/util/private-file.ts";
import { local } from "./local/backend.ts";
import type { SandboxOptions } from "./sandbox/options.ts";
import { sandbox } from "./sandbox/sandbox.ts";
import { type FoundTarget, type TargetOptions, findTarget, requireContainment } from "./targets.ts";

/** Folders and settings of this machine that a backend needs. */
export interface Surroundings {
  /** The environment of the program. Commands get parts of it. */
  readonly env: NodeJS.ProcessEnv;
  /** Folder for command output that does not fit in memory. */
  readonly outputFolder: string;
  /** The owner of the backend's detached processes, and the folder for the jobs of this machine. */
  readonly jobs: { readonly owner: string; readonly folder: string };
  readonly sandbox: Omit<SandboxOptions, "required">;
  /** The folder in which programs of tool sources start that run outside the sandbox. No model can write there. */
  readonly programs: string;
  /** The store of the toolkit, which knows workers. */
  readonly store: Pick<Store, "workers">;
  /** Returns what models could write in any session, as real paths. */
  readonly written: () => Promise<readonly string[]>;
}

/**
 * Opens the backend for a place. Loads only the code that it needs.
 *
 * @throws ToolFailure when the place cannot be reached, its working directory does not exist, or a required sandbox is
 * impossible there.
 * @throws TypeError for an unknown target.
 */
export async function openBackend(place: TargetOptions, surroundings: Surroundings): Promise<Backend> {
  const { target, targets, terminal = false } = place;
  if (typeof target === "object") return target;
  const found = findTarget(target, targets);
  requireContainment(place);
  const open = (here: TargetOptions) =>
    found === undefined ? openHere(here, surroundings) : openTarget(found, here, surroundings);
  if (terminal === false) return open(place);
  if (typeof terminal === "object") {
    const backend = await open(place);
    return found === undefined ? (await import("./tmux/beside-pane.ts")).besidePane(backend, terminal) : backend;
  }
  const inner = await open({ ...place, sandbox: "off", passEnv: [...(place.passEnv ?? []), SOCKETS] });
  try {
    const { ownSocket, tmux } = await import("./tmux/tmux.ts");
    return await tmux(inner, terminal === true ? { socket: ownSocket(surroundings.programs) } : { session: terminal });
  } catch (error) {
    await inner.close();
    throw error;
  }
}

/** The variable for the folder of tmux's sockets (tmux(1), FILES), without which tmux finds no server. */
const SOCKETS = "TMUX_TMPDIR";

/** Programs of tool sources. They run on this machine, even if the backend's target is remote. */
export interface Programs {
  /** The workspace, in which contained programs start. */
  readonly workDir: string;
  /** As `ToolSourceHost.start`. */
  start(program: SourceProgram): Promise<Process>;
  /** Ends the programs. */
  close(): Promise<void>;
}

/** Creates the programs beside a backend. They run on the backend if it is this machine's and contains them. */
export function openPrograms(place: TargetOptions, surroundings: Surroundings, opened: Backend): Programs {
  const { target, targets, terminal = false } = place;
  const isHere = typeof target !== "object" && findTarget(target, targets) === undefined;
  const workDir = isHere ? opened.workDir : process.cwd();
  let own: Promise<Backend> | undefined;
  const backendFor = (within: SourceProgram["within"]): Promise<Backend> => {
    const isShared = isHere && typeof terminal !== "string" && terminal !== true;
    if (isShared && (within === "none" || opened.sandbox !== undefined)) return Promise.resolve(opened);
    own ??= openHere({ workDir, sandbox: "auto" }, surroundings);
    return own;
  };
  return {
    workDir,
    async start({ env, ...program }) {
      const { within, argv } = program;
      const backend = await backendFor(within);
      if (within !== "none") await requireSandbox(backend, argv[0]);
      const [first, ...args] = argv;
      if (within === "none") requireClosed(first);
      return backend.spawn({
        ...{ stdin: "pipe", streams: "live", passEnv: false },
        ...(within === "none" && { cwd: await privateFolder(surroundings, workDir, first) }),
        ...program,
        // A relative path is a path in the workspace, wherever the program starts.
        argv: [first.includes("/") ? resolve(workDir, first) : first, ...args],
        env: { HANDRAIL_WORKSPACE: workDir, ...(within === "none" && { PATH: programPath() }), ...env },
      });
    },
    close: async () => (await own?.catch(() => undefined))?.close(),
  };
}

/** @throws ToolFailure if a program with this name is only where tools can write. A path is trusted by its bytes. */
function requireClosed(name: string): void {
  try {
    if (!name.includes("/")) findProgram(name);
  } catch (error) {
    if (!(error instanceof ProgramMissing)) throw error;
    if (error.onlyIn !== undefined) throw new ToolFailure(`cannot start ${name}: ${error.message}`, { cause: error });
  }
}

/**
 * Creates the folder in which programs of the user start, and returns it. Many look for code of their own in it and in
 * the folders above: npx for `node_modules/.bin` and `package.json`. The search of npm ends at the one in it.
 *
 * @throws ToolFailure if a model can write there or above.
 */
async function privateFolder(
  { programs, written, sandbox: { writable = [] } }: Surroundings,
  workDir: string,
  program: string,
): Promise<string> {
  await makePrivateFolder(programs);
  const folder = realOf(programs);
  // A model that can write in a folder above can write in this one too.
  const places = await written();
  const open = [...[workDir, ...writable].map(realOf), ...places].find((root) => isInside(folder, root));
  if (open !== undefined) {
    const forget = places.includes(open) ? ` Or look at it, then run: handrail trust --forget ${open}` : "";
    throw new ToolFailure(`cannot start ${program}: the state folder is in ${open}, where a model can write`, {
      hint: `Set XDG_STATE_HOME to a folder outside, or run the program in the sandbox: sandbox: true.${forget}`,
    });
  }
  await writeFile(join(folder, "package.json"), '{ "private": true }\n', { mode: 0o600 });
  return folder;
}

/** @throws ToolFailure if the backend cannot contain programs. */
async function requireSandbox({ sandbox: contained }: Backend, program: string): Promise<void> {
  const state = await contained?.state();
  if (state?.works === true) return;
  const why = state === undefined ? "there is none on this system" : state.reason;
  throw new ToolFailure(`cannot start ${program} in the sandbox: ${why}`, {
    hint: `${state === undefined ? "" : `${state.fix} `}Or run it outside the sandbox: sandbox: false.`,
  });
}

async function openHere(
  { workDir, passEnv, sandbox: wanted }: TargetOptions,
  { env, outputFolder, jobs, sandbox: settings }: Surroundings,
): Promise<Backend> {
  const inner = await local({
    env,
    outputFolder,
    jobFolder: jobs.folder,
    ...(workDir !== undefined && { workDir }),
    ...(passEnv !== undefined && { passEnv }),
  });
  const mode = sandboxModeOn(process.platform, wanted);
  return mode === "off" ? inner : sandbox(inner, { ...settings, required: mode === "on" });
}

async function openTarget(
  { kind, scheme, address }: FoundTarget,
  { workDir, passEnv, sandbox: mode = "auto" }: TargetOptions,
  { outputFolder, jobs, store, sandbox: settings }: Surroundings,
): Promise<Backend> {
  const backend = await kind.open(
    { scheme, address },
    {
      outputFolder,
      detachedOwner: jobs.owner,
      store,
      ...(workDir !== undefined && { workDir }),
      ...(passEnv !== undefined && { passEnv }),
    },
  );
  if (mode === "off" || kind.contains !== "by-shell") return backend;
  const { writable = [], hidden = [], isProtected = () => false } = settings;
  const { farSandbox } = await import("./sandbox/far/far-sandbox.ts");
  return farSandbox(backend, { required: mode === "on", writable, hidden, isProtected });
}
