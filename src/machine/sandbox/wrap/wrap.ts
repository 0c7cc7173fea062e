import { existsSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend, Command } from "../../../core/contract/backend.ts";
import type { SandboxAccess } from "../../../core/contract/containment.ts";
import { bytesOf } from "../../../core/util/byte-paths.ts";
import { tried } from "../../../core/util/errors.ts";
import type { NetworkSettings } from "../../network/network-settings.ts";
import { DESCRIPTORS, type Features, bubblewrapWords } from "./bubblewrap.ts";
import type { Caches } from "../session/caches.ts";
import { COMMAND_DESCRIPTOR, WATCHER_DESCRIPTOR, canWatch, watched } from "./exit-status.ts";
import type { CommandFacts, Extras } from "../mounts/facts.ts";
import type { Limits } from "../limits/limits.ts";
import { OUTPUTS_INSIDE } from "../options.ts";
import { mountsOf } from "../mounts/mounts.ts";
import type { SharedNetwork } from "../egress/shared-network.ts";
import type { EgressProxy } from "../egress/proxy.ts";
import type { Session } from "../session/session.ts";

/** What all sandboxes of one backend share, after the sandbox was tested. */
export interface SandboxContext {
  readonly inner: Backend;
  /** bwrap. */
  readonly program: string;
  readonly features: Features;
  readonly session: Session;
  readonly caches: Caches;
  readonly limits: Limits;
  /** The network that commands share. `undefined`: each command has its own. */
  readonly sharedNetwork: SharedNetwork | undefined;
  readonly network: NetworkSettings | undefined;
  /** Bytes that have to stay free on the disks that commands write to. */
  readonly diskFree: number;
  /** Path of the system call filter. */
  readonly filterFile: string;
  /** Path of the file that contains `WATCHER`. */
  readonly watcherFile: string;
  /** The folder of the session's saved outputs. */
  readonly outputs: string | undefined;
  /** Reports that a sandbox could not be set up. */
  failed(): void;
  /** Await it immediately before `factsFor`: every change until now is known then. */
  settle(): Promise<void>;
  /** Await it before `CommandFacts.after`: all repositories in installed packages are known then. */
  readPackages(): Promise<void>;
  factsFor(access: SandboxAccess, extras: Extras): CommandFacts;
}

/** Path, inside the sandbox, of the program that waits for the command. */
const WATCHER_INSIDE = "/run/handrail-watch";

/** Path of the proxy's socket inside the sandbox. */
export const PROXY_INSIDE = "/run/handrail-proxy";

/**
 * Returns sh code that opens bwrap's files as descriptors (arguments, which only bwrap may read; filter; status report)
 * and executes its remaining arguments. Opens the watcher's descriptor only if there is a watcher, since the command
 * would inherit it; with "waits" also the pipe from which the watcher reads the command.
 */
export function opening(how: "starts" | "waits" = "starts"): string {
  const watching = canWatch() ? ` ${WATCHER_DESCRIPTOR}>>"$3"` : "";
  const handed = `${DESCRIPTORS.args}<"$1" ${DESCRIPTORS.filter}<"$2" ${DESCRIPTORS.status}>>"$3"${watching}`;
  return how === "starts"
    ? `exec ${handed} && shift 3 && exec "$@"`
    : `exec ${handed} ${COMMAND_DESCRIPTOR}<"$4" && shift 4 && exec "$@"`;
}

let started = 0;

/** Returns the words that run a program in the sandbox of a command without extra access, to test it. */
export function trialWords(
  context: Omit<SandboxContext, "features">,
  features: Features,
  argv: Command["argv"],
): readonly string[] {
  const { facts } = context.factsFor({}, { reopened: [], given: givenBy(context) });
  // A socket may disappear before it is mounted, and nothing here could connect to it.
  const mounts = mountsOf({ ...facts, sockets: [], ownProcesses: features.processes });
  const hasOwnNetwork = context.sharedNetwork === undefined;
  const command = { cwd: context.inner.workDir, env: {}, isDetached: false, hasOwnNetwork };
  const files = writeFiles(context.session, bubblewrapWords(features, mounts, command));
  return wrapped(context, files, { prefix: ["/bin/sh", "-c", opening(), "sh"], networked: false, argv });
}

/**
 * The words of a contained command: `prefix` with limits and files of bwrap, network, bwrap, watcher, command. Without
 * `argv`, the watcher reads the command from `pipe`.
 */
export function wrapped(
  { program, filterFile, sharedNetwork }: Omit<SandboxContext, "features">,
  files: Files,
  how: {
    readonly prefix: readonly string[];
    readonly networked: boolean;
    readonly argv: readonly string[];
    readonly pipe?: string;
  },
): Command["argv"] {
  const [first, ...rest] = [
    ...how.prefix,
    ...[files.args, filterFile, files.status, ...(how.pipe === undefined ? [] : [how.pipe])],
    ...(how.networked ? [] : (sharedNetwork?.prefix ?? [])),
    ...[program, "--args", String(DESCRIPTORS.args), "--"],
    ...watched(how.argv, WATCHER_INSIDE),
  ];
  return [first ?? "/bin/sh", ...rest];
}

/** The files that bwrap reads (`args`) and writes (`status`) for one command. */
export interface Files {
  readonly args: string;
  readonly status: string;
}

/** @throws The system's error when they cannot be written. */
export function writeFiles({ folder }: Session, words: readonly string[]): Files {
  const name = join(folder, String(++started));
  const files = { args: `${name}.args`, status: `${name}.status` };
  writeFileSync(files.args, Buffer.concat(words.map((word) => Buffer.from(bytesOf(`${word}\0`)))), { mode: 0o600 });
  writeFileSync(files.status, "", { mode: 0o600 });
  return files;
}

/** Removes the files of a command that has ended. Never throws. */
export function removeFiles({ args, status }: Files): void {
  for (const file of [args, status]) tried(() => unlinkSync(file)); // at once: a command waits for it
}

/** Handrail's own files inside the sandbox. A command that may send something does not see saved outputs. */
export function givenBy(
  { watcherFile, outputs }: Pick<SandboxContext, "watcherFile" | "outputs">,
  proxy?: EgressProxy,
): Extras["given"] {
  const watcher = { at: WATCHER_INSIDE, from: watcherFile };
  if (proxy !== undefined) return [watcher, { at: PROXY_INSIDE, from: proxy.socket }];
  return outputs !== undefined && existsSync(outputs) ? [watcher, { at: OUTPUTS_INSIDE, from: outputs }] : [watcher];
}
