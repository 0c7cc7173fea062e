import type { Backend } from "../core/contract/backend.ts";
import { type SandboxMode, type Sandboxed, sandboxModeOn, sandboxedBy } from "../core/contract/containment.ts";
import { ToolFailure } from "../core/contract/failure.ts";
import type { TargetAddress, TargetKind } from "../core/contract/target.ts";
import { containerTarget } from "./container/target.ts";
import { sshTarget } from "./ssh/target.ts";
import type { Pane } from "./tmux/beside-pane.ts";
import { workerTarget } from "./worker/target.ts";

/** The built-in kinds of targets. To add a kind: a folder with its entry, and a line here. */
export const TARGETS: readonly TargetKind[] = [containerTarget, sshTarget, workerTarget];

/** Where work happens. */
export interface TargetOptions {
  /**
   * "local" (default), "ssh:deploy@host", "docker:web", "podman:web", "worker:build", or a backend, closed with the
   * toolkit.
   */
  readonly target?: string | Backend;
  /** Kinds of targets besides the built-in ones. Default: none. */
  readonly targets?: readonly TargetKind[];
  /** A folder on the target. Default: the current folder (local), the home (SSH), the image's folder (container). */
  readonly workDir?: string;
  /**
   * A live terminal of the target that people share, in which commands run: the name of a session of the person's
   * own tmux server; true for a session on a server of Handrail's own. Or the pane of this machine in which this
   * process runs (`$TMUX_PANE`, `$TMUX`): tools can read it and type into it, while commands run as usual, or without
   * waiting in a window beside it. Default: none.
   */
  readonly terminal?: boolean | string | Pane;
  /** Variables of the target that commands get in addition to the harmless ones. Default: none. */
  readonly passEnv?: readonly string[];
  /** Whether commands are contained. Default: "auto". */
  readonly sandbox?: SandboxMode;
}

/** A target and its kind. */
export interface FoundTarget extends TargetAddress {
  readonly name: string;
  readonly kind: TargetKind;
}

/**
 * Finds the kind of a target by its name; `undefined` for this machine ("local").
 *
 * @throws TypeError for an unknown kind.
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

/** Returns the name of a target from the value of its kind's flag, which is an address or the whole name. */
export function targetOfFlag({ schemes }: TargetKind, value: string): string {
  return schemes.some((scheme) => value.startsWith(`${scheme}:`)) ? value : `${schemes[0]}:${value}`;
}

/** Whether commands at the place will be contained, as far as is known before a test. */
export function sandboxedAt(place: TargetOptions): Sandboxed {
  if (typeof place.target === "object") return sandboxedBy(place.target.sandbox);
  if (uncontained(place) !== undefined) return false;
  const found = findTarget(place.target, place.targets);
  if (found?.kind.contains === "by-shell") return place.sandbox === "off" ? false : "offline";
  return sandboxModeOn(process.platform, place.sandbox) !== "off";
}

/** Whether the place has a live terminal. */
export function hasTerminal({ target, targets, terminal = false }: TargetOptions): boolean {
  if (typeof target === "object") return target.terminal !== undefined;
  return typeof terminal === "object" ? findTarget(target, targets) === undefined : terminal !== false;
}

/** @throws ToolFailure if a sandbox is required and commands at the place cannot be contained. */
export function requireContainment(place: TargetOptions): void {
  const why = uncontained(place);
  if (place.sandbox !== "on" || why === undefined) return;
  throw new ToolFailure(`the sandbox is required, but ${why}`, {
    hint: "Use sandbox: auto; commands of medium risk then need approval.",
  });
}

/** Why commands at the place cannot be contained; `undefined` if this machine decides. */
function uncontained({ target, targets, terminal = false }: TargetOptions): string | undefined {
  const found = typeof target === "object" ? undefined : findTarget(target, targets);
  if (found !== undefined && found.kind.contains === undefined) return `commands are not contained on ${found.name}`;
  return terminal === false || typeof terminal === "object"
    ? undefined
    : "commands in a shared terminal are not contained";
}
