import { type SandboxMode, sandboxModeOn } from "../contract/containment.ts";
import { ToolFailure } from "../contract/failure.ts";
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

/** @throws ToolFailure when a sandbox is required and no command at the place can be contained. */
export function requireContainment(place: Place): void {
  const why = uncontained(place);
  if (place.sandbox !== "on" || why === undefined) return;
  throw new ToolFailure(`the sandbox is required, and ${why}`, {
    hint: "Leave it to what is there (sandbox: auto); commands of medium risk are then asked about.",
  });
}

/** True when it is another system than this machine. */
export function isElsewhere({ ssh, container }: Pick<Place, "ssh" | "container">): boolean {
  return ssh !== undefined || container !== undefined;
}
