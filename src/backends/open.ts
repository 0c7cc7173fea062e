import type { Backend } from "../contract/backend.ts";
import { sandboxModeOn } from "../contract/containment.ts";
import { local } from "./local/backend.ts";
import type { SandboxOptions } from "./sandbox/options.ts";
import { sandbox } from "./sandbox/sandbox.ts";
import { type Place, isElsewhere, requireContainment } from "./place.ts";

/** What a backend needs of this machine. */
export interface Surroundings {
  /** Where output of commands goes that is too big for memory. */
  readonly outputFolder: string;
  /** Whose detached processes it has, and the folder for those of this machine. */
  readonly detached: { readonly owner: string; readonly folder: string };
  readonly sandbox: Omit<SandboxOptions, "required">;
}

/**
 * Opens the backend for the place. What it needs is loaded then.
 *
 * @throws ToolFailure when the place cannot be reached, its working directory is not there, or it cannot be contained as demanded;
 *   TypeError when two places are given.
 */
export async function openBackend(place: Place, surroundings: Surroundings): Promise<Backend> {
  const { ssh, container, tmux } = place;
  if (ssh !== undefined && container !== undefined) {
    throw new TypeError(`work can happen in one place: got ssh ${ssh} and container ${container}`);
  }
  requireContainment(place);
  if (tmux === undefined || tmux === false) {
    const backend = isElsewhere(place) ? await openElsewhere(place, surroundings) : await openHere(place, surroundings);
    if (place.pane === undefined || isElsewhere(place)) return backend;
    return (await import("./tmux/beside-pane.ts")).besidePane(backend, place.pane);
  }
  const inner = isElsewhere(place)
    ? await openElsewhere(place, surroundings)
    : await openHere({ ...place, sandbox: "off", passEnv: [...(place.passEnv ?? []), SOCKETS] }, surroundings);
  try {
    return await (await import("./tmux/tmux.ts")).tmux(inner, typeof tmux === "string" ? { session: tmux } : {});
  } catch (error) {
    await inner.close();
    throw error;
  }
}

/** Where tmux has the sockets of its servers (tmux(1), FILES): without it the server of the person would not be found. */
const SOCKETS = "TMUX_TMPDIR";

async function openHere(
  { workDir, passEnv, sandbox: wanted }: Place,
  { outputFolder, detached, sandbox: settings }: Surroundings,
): Promise<Backend> {
  const inner = await local({
    outputFolder,
    detachedFolder: detached.folder,
    ...(workDir !== undefined && { workDir }),
    ...(passEnv !== undefined && { passEnv }),
  });
  const mode = sandboxModeOn(process.platform, wanted);
  return mode === "off" ? inner : sandbox(inner, { ...settings, required: mode === "on" });
}

async function openElsewhere(
  { ssh, container = "", workDir, passEnv }: Place,
  { outputFolder, detached }: Surroundings,
): Promise<Backend> {
  const options = {
    outputFolder,
    detachedOwner: detached.owner,
    ...(workDir !== undefined && { workDir }),
    ...(passEnv !== undefined && { passEnv }),
  };
  if (ssh !== undefined) return (await import("./ssh/ssh.ts")).ssh({ ...options, target: ssh });
  return (await import("./container/container.ts")).container({ ...options, container });
}
