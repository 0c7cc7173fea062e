import type { Backend } from "../contract/backend.ts";
import { sandboxModeOn } from "../contract/containment.ts";
import { local } from "./local/backend.ts";
import type { SandboxOptions } from "./sandbox/options.ts";
import { sandbox } from "./sandbox/sandbox.ts";
import { type FoundTarget, type Place, findTarget, requireContainment } from "./targets.ts";

/** What a backend needs of this machine. */
export interface Surroundings {
  /** Where output of commands goes that is too big for memory. */
  readonly outputFolder: string;
  /** Whose detached processes it has, and the folder for the jobs of this machine. */
  readonly jobs: { readonly owner: string; readonly folder: string };
  readonly sandbox: Omit<SandboxOptions, "required">;
}

/**
 * Opens the backend for the place. What it needs is loaded then.
 *
 * @throws ToolFailure when the place cannot be reached, its working directory is not there, or it cannot be contained as demanded;
 *   TypeError when there is no such target.
 */
export async function openBackend(place: Place, surroundings: Surroundings): Promise<Backend> {
  const { target, targets, terminal = false } = place;
  if (typeof target === "object") return target;
  const found = findTarget(target, targets);
  requireContainment(place);
  const open = (here: Place) =>
    found === undefined ? openHere(here, surroundings) : openTarget(found, place, surroundings);
  if (terminal === false) return open(place);
  if (typeof terminal === "object") {
    const backend = await open(place);
    return found === undefined ? (await import("./tmux/beside-pane.ts")).besidePane(backend, terminal) : backend;
  }
  const inner = await open({ ...place, sandbox: "off", passEnv: [...(place.passEnv ?? []), SOCKETS] });
  try {
    return await (await import("./tmux/tmux.ts")).tmux(inner, terminal === true ? {} : { session: terminal });
  } catch (error) {
    await inner.close();
    throw error;
  }
}

/** Where tmux has the sockets of its servers (tmux(1), FILES): without it the server of the person would not be found. */
const SOCKETS = "TMUX_TMPDIR";

async function openHere(
  { workDir, passEnv, sandbox: wanted }: Place,
  { outputFolder, jobs, sandbox: settings }: Surroundings,
): Promise<Backend> {
  const inner = await local({
    outputFolder,
    jobFolder: jobs.folder,
    ...(workDir !== undefined && { workDir }),
    ...(passEnv !== undefined && { passEnv }),
  });
  const mode = sandboxModeOn(process.platform, wanted);
  return mode === "off" ? inner : sandbox(inner, { ...settings, required: mode === "on" });
}

function openTarget(
  { kind, scheme, address }: FoundTarget,
  { workDir, passEnv }: Place,
  { outputFolder, jobs }: Surroundings,
): Promise<Backend> {
  return kind.open(
    { scheme, address },
    {
      outputFolder,
      detachedOwner: jobs.owner,
      ...(workDir !== undefined && { workDir }),
      ...(passEnv !== undefined && { passEnv }),
    },
  );
}
