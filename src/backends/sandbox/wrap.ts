import { writeFileSync } from "node:fs";
import { unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Backend, Command } from "../../contract/backend.ts";
import type { Needs } from "../../contract/containment.ts";
import type { Env } from "../../contract/effect.ts";
import type { NetworkSettings } from "../../network/settings.ts";
import { HOLDER_VARIABLE } from "../local/spawner/kill-tree.ts";
import { DESCRIPTORS, type Features, bubblewrapWords } from "./bubblewrap.ts";
import type { Caches } from "./caches.ts";
import { WATCHER_DESCRIPTOR, canWatch, watched } from "./ending.ts";
import type { CommandFacts, Extras } from "./facts.ts";
import type { Limits } from "./limits.ts";
import { type Mount, mountsOf } from "./mounts.ts";
import type { NetworkRoom } from "./network-room.ts";
import type { EgressProxy } from "./proxy.ts";
import type { Session } from "./session.ts";
import { LEADING_OUT } from "./sockets.ts";

/** What all sandboxes of one backend have in common, found to work. */
export interface Workshop {
  readonly inner: Backend;
  /** bwrap. */
  readonly program: string;
  readonly features: Features;
  readonly session: Session;
  readonly caches: Caches;
  readonly limits: Limits;
  /** The network that commands share; `undefined`: each has one of its own. */
  readonly room: NetworkRoom | undefined;
  readonly network: NetworkSettings | undefined;
  /** Bytes that have to stay free on the disks that commands write to. */
  readonly diskFree: number;
  /** Of the filter of system calls. */
  readonly filterFile: string;
  /** Holds `WATCHER`. */
  readonly watcherFile: string;
  /** To be awaited immediately before facts are asked for: what has changed until now is known then. */
  settle(): Promise<void>;
  factsFor(needs: Needs, extras: Extras): CommandFacts;
}

/** Where the program that waits for the command is inside. */
const WATCHER_INSIDE = "/run/handrail-watch";

/** Where the proxy's socket is inside. */
export const PROXY_INSIDE = "/run/handrail-proxy";

/**
 * Text of sh that opens what bwrap is handed as descriptors (arguments, which nobody but it may read or change, what it reports to, the filter),
 * and becomes what follows. Where nobody watches, the watcher's is not opened: it would reach the command.
 */
export function opening(): string {
  const watching = canWatch() ? ` ${WATCHER_DESCRIPTOR}>>"$3"` : "";
  const handed = `${DESCRIPTORS.args}<"$1" ${DESCRIPTORS.filter}<"$2" ${DESCRIPTORS.status}>>"$3"${watching}`;
  return `exec ${handed} && shift 3 && exec "$@"`;
}

let started = 0;

/** The words that run a program in a sandbox that a command without further needs would have, for trying it. */
export function trialWords(
  shop: Omit<Workshop, "features">,
  features: Features,
  argv: Command["argv"],
): readonly string[] {
  const { facts } = shop.factsFor({}, { reopened: [], given: givenBy(shop) });
  // A socket may be gone before it is mounted, and nothing runs here that could reach one.
  const mounts = mountsFor({ facts: { ...facts, sockets: [] } }, features);
  const place = { cwd: shop.inner.workDir, env: {}, networked: false, isDetached: false };
  const files = writeFiles(shop.session, wordsOf({ room: shop.room, features }, mounts, place));
  return wrapped(shop, files, { prefix: ["/bin/sh", "-c", opening(), "sh"], networked: false, argv });
}

/** What is mounted for a command of which this is known. */
export function mountsFor({ facts }: Pick<CommandFacts, "facts">, features: Features): readonly Mount[] {
  return mountsOf({ ...facts, ownProcesses: features.processes });
}

interface Place {
  readonly cwd: string;
  readonly env: Env;
  readonly networked: boolean;
  readonly isDetached: boolean;
}

/** What bwrap is told about one command. */
export function wordsOf(
  { features, room }: Pick<Workshop, "features" | "room">,
  mounts: readonly Mount[],
  { cwd, env, networked, isDetached }: Place,
): readonly string[] {
  return bubblewrapWords({
    features,
    mounts,
    cwd,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => name !== "" && !name.includes("="))),
    withoutEnv: [HOLDER_VARIABLE, ...LEADING_OUT],
    network: networked || room === undefined ? "own" : "entered",
    diesWithParent: !isDetached,
  });
}

/** The words that start a command contained: what sets its limits and opens bwrap's files (`prefix`), the room, bwrap, the watcher, the command. */
export function wrapped(
  { program, filterFile, room }: Omit<Workshop, "features">,
  files: Files,
  {
    prefix,
    networked,
    argv,
  }: { readonly prefix: readonly string[]; readonly networked: boolean; readonly argv: Command["argv"] },
): Command["argv"] {
  const [first, ...rest] = [
    ...prefix,
    ...[files.args, filterFile, files.status],
    ...(networked ? [] : (room?.prefix ?? [])),
    ...[program, "--args", String(DESCRIPTORS.args), "--"],
    ...watched(argv, WATCHER_INSIDE),
  ];
  return [first ?? "/bin/sh", ...rest];
}

/** What bwrap reads and writes of one command. */
export interface Files {
  readonly args: string;
  readonly status: string;
}

/** @throws The system's error when they cannot be written. */
export function writeFiles({ folder }: Session, words: readonly string[]): Files {
  const name = join(folder, String(++started));
  const files = { args: `${name}.args`, status: `${name}.status` };
  writeFileSync(files.args, words.map((word) => `${word}\0`).join(""), { mode: 0o600 });
  writeFileSync(files.status, "", { mode: 0o600 });
  return files;
}

/** For when the command has ended. */
export async function removeFiles({ args, status }: Files): Promise<void> {
  await Promise.allSettled([unlink(args), unlink(status)]);
}

/** Files of ours that it finds inside. */
export function givenBy({ watcherFile }: Pick<Workshop, "watcherFile">, proxy?: EgressProxy): Extras["given"] {
  const watcher = { at: WATCHER_INSIDE, from: watcherFile };
  return proxy === undefined ? [watcher] : [watcher, { at: PROXY_INSIDE, from: proxy.socket }];
}
