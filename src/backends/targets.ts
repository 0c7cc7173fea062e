import type { Backend } from "../contract/backend.ts";
import { type SandboxMode, sandboxModeOn } from "../contract/containment.ts";
import { ToolFailure } from "../contract/failure.ts";
import type { TargetAddress, TargetKind } from "../contract/target.ts";
import { containerTarget } from "./container/target.ts";
import { sshTarget } from "./ssh/target.ts";
import type { Pane } from "./tmux/beside-pane.ts";

/** The kinds of targets that Handrail comes with. To add one: a folder with its entry, and a line here. */
export const TARGETS: readonly TargetKind[] = [containerTarget, sshTarget];

/** Where work is to happen. */
export interface Place {
  /** "local" (the default) is this machine; "ssh:deploy@host", "docker:web", "podman:web"; or a backend, which is closed with the toolkit. */
  readonly target?: string | Backend;
  /** Kinds of targets beside those that Handrail comes with. */
  readonly targets?: readonly TargetKind[];
  /** A folder of the target. Default: the current folder of this machine, the home over SSH, the image's own in a container. */
  readonly workDir?: string;
  /**
   * Commands run in a live terminal of the target that people share: a session of tmux, by its name; true for "handrail". Or the pane of this machine
   * in which we run (`$TMUX_PANE`, `$TMUX`): it can be looked at and typed into, while commands run as ever. Default: none.
   */
  readonly terminal?: boolean | string | Pane;
  /** Variables of the target that commands get beside the harmless ones. */
  readonly passEnv?: readonly string[];
  /** Whether commands are contained, which only this machine can. Default "auto". */
  readonly sandbox?: SandboxMode;
}

/** A target that was named, and its kind. */
export interface FoundTarget extends TargetAddress {
  readonly name: string;
  readonly kind: TargetKind;
}

/**
 * Finds the kind of a target by its name; `undefined` for this machine ("local").
 *
 * @throws TypeError when there is no such kind.
 */
export function findTarget(name = "local", kinds: readonly TargetKind[] = []): FoundTarget | undefined {
  if (name === "local") return undefined;
  const all = [...TARGETS, ...kinds];
  const [, scheme = "", address = ""] = /^([^:]*):(.+)$/s.exec(name) ?? [];
  const kind = all.find(({ schemes }) => schemes.includes(scheme));
  if (kind !== undefined) return { name, kind, scheme, address };
  const known = all.flatMap(({ schemes, address: what }) => schemes.map((each) => `${each}:${what}`));
  throw new TypeError(`no target ${JSON.stringify(name)}: expected local, ${known.join(", ")}, or a backend`);
}

/** The name of a target, from the value of its kind's flag: an address, or the whole name. */
export function targetOfFlag({ schemes }: TargetKind, value: string): string {
  return schemes.some((scheme) => value.startsWith(`${scheme}:`)) ? value : `${schemes[0]}:${value}`;
}

/** True when commands at the place are contained, as far as can be said before it is tried. */
export function isContained(place: Place): boolean {
  if (typeof place.target === "object") return place.target.sandbox !== undefined;
  return uncontained(place) === undefined && sandboxModeOn(process.platform, place.sandbox) !== "off";
}

/** True when there is a live terminal at the place. */
export function hasTerminal({ target, targets, terminal = false }: Place): boolean {
  if (typeof target === "object") return target.terminal !== undefined;
  return typeof terminal === "object" ? findTarget(target, targets) === undefined : terminal !== false;
}

/** @throws ToolFailure when a sandbox is required and no command at the place can be contained. */
export function requireContainment(place: Place): void {
  const why = uncontained(place);
  if (place.sandbox !== "on" || why === undefined) return;
  throw new ToolFailure(`the sandbox is required, and ${why}`, {
    hint: "Leave it to what is there (sandbox: auto); commands of medium risk are then asked about.",
  });
}

/** Why no command at the place can be contained; `undefined`: it can, if this machine can. */
function uncontained({ target, targets, terminal = false }: Place): string | undefined {
  const found = typeof target === "object" ? undefined : findTarget(target, targets);
  if (found !== undefined) return `it contains commands of this machine only, not those of ${found.name}`;
  return terminal === false || typeof terminal === "object"
    ? undefined
    : "commands in a terminal that people share are not contained";
}
