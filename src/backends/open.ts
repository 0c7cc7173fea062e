import { ToolFailure } from "../contract/failure.ts";
import type { Backend } from "../contract/backend.ts";
import { type SandboxMode, sandboxModeOn } from "../contract/containment.ts";
import { local } from "./local/backend.ts";
import type { SandboxOptions } from "./sandbox/options.ts";
import { sandbox } from "./sandbox/sandbox.ts";

/** Where work is to happen. At most one of `ssh` and `container`; none: this machine. */
export interface Place {
  /** A host: what ssh(1) takes, as "deploy@host", "ssh://deploy@host:2222" or a Host of its configuration. */
  readonly ssh?: string;
  /** A running container, by name or id; "podman:web" where both engines have one. */
  readonly container?: string;
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
  const { ssh, container, sandbox: wanted, ...options } = place;
  const { outputFolder, detached } = surroundings;
  if (ssh === undefined && container === undefined) {
    const inner = await local({ ...options, outputFolder, detachedFolder: detached.folder });
    const mode = sandboxModeOn(process.platform, wanted);
    return mode === "off" ? inner : sandbox(inner, { ...surroundings.sandbox, required: mode === "on" });
  }
  if (ssh !== undefined && container !== undefined) {
    throw new TypeError(`work can happen in one place: got ssh ${ssh} and container ${container}`);
  }
  if (wanted === "on") {
    throw new ToolFailure(
      `the sandbox is required, and it contains commands of this machine only, not those ${ssh === undefined ? `in container ${container}` : `on ${ssh}`}`,
      {
        hint: "Leave it to what is there (sandbox: auto); commands of medium risk are then asked about.",
      },
    );
  }
  const there = { ...options, outputFolder, detachedOwner: detached.owner };
  if (ssh !== undefined) return (await import("./ssh/ssh.ts")).ssh({ ...there, target: ssh });
  return (await import("./container/container.ts")).container({ ...there, container: container ?? "" });
}

/** True when commands at the place are contained, as far as can be said before it is tried. */
export function isContained({ ssh, container, sandbox: wanted }: Place): boolean {
  return ssh === undefined && container === undefined && sandboxModeOn(process.platform, wanted) !== "off";
}
