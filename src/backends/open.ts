import { ToolFailure } from "../contract/failure.ts";
import type { Backend } from "../contract/backend.ts";
import { type SandboxMode, sandboxModeOn } from "../contract/containment.ts";
import { local } from "./local/backend.ts";
import type { SandboxOptions } from "./sandbox/options.ts";
import { sandbox } from "./sandbox/sandbox.ts";
import type { Pane } from "./tmux/beside-pane.ts";

/** Where work is to happen. At most one of `ssh` and `container`; none: this machine. */
export interface Place {
  /** A host: what ssh(1) takes, as "deploy@host", "ssh://deploy@host:2222" or a Host of its configuration. */
  readonly ssh?: string;
  /** A running container, by name or id; "podman:web" where both engines have one. */
  readonly container?: string;
  /** Commands run in a live terminal there that people share: a session of tmux, by its name; true for "handrail". Default false. */
  readonly tmux?: boolean | string;
  /**
   * The tmux pane of this machine in which we run (`$TMUX_PANE`, `$TMUX`): it can be looked at and typed into, while commands run as ever. Not where work is elsewhere, nor with
   * `tmux`.
   */
  readonly pane?: Pane;
  /** A folder *there*. Default: the current folder here, the home over SSH, the image's own in a container. */
  readonly workDir?: string;
  /** Variables *there* that commands get beside the harmless ones. */
  readonly passEnv?: readonly string[];
  /** Whether commands are contained, which only this machine can. Default "auto". */
  readonly sandbox?: SandboxMode;
}

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
  const why = uncontained(place);
  if (place.sandbox === "on" && why !== undefined) {
    throw new ToolFailure(`the sandbox is required, and ${why}`, {
      hint: "Leave it to what is there (sandbox: auto); commands of medium risk are then asked about.",
    });
  }
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

/** True when commands at the place are contained, as far as can be said before it is tried. */
export function isContained(place: Place): boolean {
  return uncontained(place) === undefined && sandboxModeOn(process.platform, place.sandbox) !== "off";
}

/** True when there is a live terminal at the place. */
export function hasTerminal(place: Place): boolean {
  return (place.tmux !== undefined && place.tmux !== false) || (place.pane !== undefined && !isElsewhere(place));
}

/** Why no command at the place can be contained; `undefined`: it can, if this machine can. */
function uncontained({ ssh, container, tmux }: Place): string | undefined {
  if (ssh !== undefined) return `it contains commands of this machine only, not those on ${ssh}`;
  if (container !== undefined) return `it contains commands of this machine only, not those in container ${container}`;
  return tmux === undefined || tmux === false
    ? undefined
    : "commands in a terminal that people share are not contained";
}

function isElsewhere({ ssh, container }: Place): boolean {
  return ssh !== undefined || container !== undefined;
}

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
