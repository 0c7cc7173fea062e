import { writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { Backend, Command, OutputLog, Process } from "../../contract/backend.ts";
import type { Needs, Refusal } from "../../contract/containment.ts";
import type { Env } from "../../contract/effect.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { NetworkSettings } from "../../network/settings.ts";
import { messageOf } from "../../util/errors.ts";
import { commandEnvironment } from "../local/environment.ts";
import { HOLDER_VARIABLE } from "../local/spawner/kill-tree.ts";
import { bridged } from "./bridge-command.ts";
import { DESCRIPTORS, type Features, bubblewrapWords } from "./bubblewrap.ts";
import type { Caches } from "./caches.ts";
import { guardDisk } from "./disk-guard.ts";
import { WATCHER_DESCRIPTOR, exitInside, watched } from "./ending.ts";
import type { CommandFacts, Extras } from "./facts.ts";
import { takeAway } from "./git-folders.ts";
import type { CommandLimits, Limits } from "./limits.ts";
import { type Mount, isHidden, isWritable, mountAbove, mountsOf } from "./mounts.ts";
import type { NetworkRoom } from "./network-room.ts";
import type { EgressProxy } from "./proxy.ts";
import type { Session } from "./session.ts";
import { LEADING_OUT } from "./sockets.ts";
import { requireStartable } from "./startable.ts";

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
  factsFor(needs: Needs, extras: Extras): CommandFacts;
}

/** Where the program that waits for the command is inside. */
const WATCHER_INSIDE = "/run/handrail-watch";

/** Where the proxy's socket is inside. */
const PROXY_INSIDE = "/run/handrail-proxy";

/** So much of the end of the output is looked through for what the sandbox refused. 64 KiB. */
const LOOKED_THROUGH = 65_536;

/**
 * Opens what bwrap is handed as descriptors (arguments, which nobody but it may read or change, what it reports to, the filter), and becomes
 * what follows.
 */
const OPEN = `exec ${DESCRIPTORS.args}<"$1" ${DESCRIPTORS.filter}<"$2" ${DESCRIPTORS.status}>>"$3" ${WATCHER_DESCRIPTOR}>>"$3" && shift 3 && exec "$@"`;

/** The same where nobody watches: what is open would reach the command. */
const OPEN_UNWATCHED = OPEN.replace(` ${WATCHER_DESCRIPTOR}>>"$3"`, "");

let started = 0;

/** The words that run a program in a sandbox that a command without further needs would have, for trying it. */
export function trialWords(
  shop: Omit<Workshop, "features">,
  features: Features,
  argv: Command["argv"],
): readonly string[] {
  const mounts = mountsFor(shop.factsFor({}, { reopened: [], given: givenBy(shop) }), features);
  const place = { cwd: shop.inner.workDir, env: {}, networked: false, detached: false };
  const files = writeFiles(shop.session, wordsOf({ room: shop.room, features }, mounts, place));
  return wrapped(shop, files, { limits: [], networked: false, argv });
}

/**
 * Starts a command in a sandbox of its own.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnContained(command: Command, needs: Needs, shop: Workshop): Promise<Process> {
  const { argv, detached, signal } = command;
  const [program] = argv;
  const cwd = await shop.inner.files.realPath(command.cwd ?? ".");
  await requireStartable(argv, cwd, commandEnvironment(process.env, [], { ...command.env }));
  if (signal?.aborted) throw new ToolFailure(`${program} was stopped before it was started`);
  const hosts = needs.network ?? [];
  const networked = hosts.length > 0;
  const proxy = networked ? await proxyFor(hosts, shop) : undefined;
  const limits = await shop.limits.forCommand();
  const release = async () => {
    await Promise.all([proxy?.close(), limits.dispose()]);
  };
  let files: Files | undefined;
  try {
    const { argv: inside, env: bridge, paths } = proxy === undefined ? NO_BRIDGE(argv) : bridged(argv, PROXY_INSIDE);
    const { facts, mustNotAppear } = shop.factsFor(needs, { reopened: paths, given: givenBy(shop, proxy) });
    const mounts = mountsFor({ facts }, shop.features);
    requireVisible(program, cwd, mounts);
    const env = { ...shop.caches.environment(networked), TMPDIR: "/tmp", ...command.env, ...bridge };
    files = writeFiles(shop.session, wordsOf(shop, mounts, { cwd, env, networked, detached: detached !== undefined }));
    const outside: Command = {
      ...command,
      cwd,
      argv: wrapped(shop, files, { limits: limits.prefix, networked, argv: inside }),
      env: { [HOLDER_VARIABLE]: shop.session.id },
    };
    const child = await shop.inner.spawn(outside).catch((error: unknown) => {
      throw renamed(error, outside.argv[0], program);
    });
    if (detached !== undefined) {
      shop.session.keep();
      return child;
    }
    return watchedOver(child, { command, cwd, mounts, mustNotAppear, networked, shop, limits, proxy, files, release });
  } catch (error) {
    await release();
    if (files !== undefined) await removeFiles(files);
    throw error;
  }
}

interface Running {
  readonly command: Command;
  readonly cwd: string;
  readonly mounts: readonly Mount[];
  readonly mustNotAppear: readonly string[];
  readonly networked: boolean;
  readonly shop: Workshop;
  readonly limits: CommandLimits;
  readonly proxy: EgressProxy | undefined;
  readonly files: Files;
  release(): Promise<void>;
}

/** The process as it would be without a sandbox, and what it was kept from. */
function watchedOver(child: Process, running: Running): Process {
  const { command, mounts, shop, files } = running;
  let isDiskFull = false;
  const disk = guardDisk({
    folders: [
      ...new Set(mounts.flatMap(({ kind, at }) => (kind === "writable" ? [at] : [])).concat(shop.session.folder)),
    ],
    diskFree: shop.diskFree,
    full: () => {
      isDiskFull = true;
      void child.kill();
    },
  });
  const ended = (async () => {
    const outer = await child.exit;
    disk.stop();
    const said = await endOf(child);
    const exit = exitInside(outer, command.argv[0], files.status, said);
    const appeared = takeAway(running.mustNotAppear);
    return { exit, said, appeared };
  })();
  const refusals = ended.then(async ({ exit, said, appeared }): Promise<readonly Refusal[]> => {
    const hit = await running.limits.hit().catch(() => []);
    await Promise.all([running.release(), removeFiles(files)]).catch(() => undefined);
    const { refusalsIn } = await import("./refusals.ts");
    return distinct([
      ...appeared.map((path): Refusal => ({ kind: "write", path })),
      ...(running.proxy?.refused() ?? []).map((each): Refusal => ({ kind: "host", ...each })),
      ...hit.map((what): Refusal => ({ kind: "limit", what })),
      ...(isDiskFull ? [{ kind: "limit", what: "disk" } as const] : []),
      ...refusalsIn(said, {
        exit,
        networked: running.networked,
        isWritable: (path) => isWritable(mounts, path),
        isHidden: (path) => isHidden(mounts, path),
        workDir: running.cwd,
        home: shop.inner.home,
      }),
    ]);
  });
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    exit: ended.then(({ exit }) => exit),
    refusals: refusals.catch(() => []),
    write: (text) => child.write(text),
    endInput: () => child.endInput(),
    async kill() {
      await child.kill();
      await ended;
    },
  };
}

function distinct(refusals: readonly Refusal[]): readonly Refusal[] {
  return [...new Map(refusals.map((refusal) => [JSON.stringify(refusal), refusal])).values()];
}

/** The end of what it wrote; nothing where that was let go of. Never rejects. */
async function endOf({ output, errors }: Process): Promise<string> {
  const tailOf = async (log: OutputLog | undefined) => {
    const bytes = await log?.tail(LOOKED_THROUGH).catch(() => undefined);
    return bytes === undefined ? "" : Buffer.from(bytes).toString();
  };
  const tails = await Promise.all([tailOf(output), tailOf(errors)]);
  return tails.filter((text) => text !== "").join("\n");
}

async function proxyFor(hosts: readonly string[], { network, session }: Workshop): Promise<EgressProxy> {
  const { startProxy } = await import("./proxy.ts");
  try {
    return await startProxy({ hosts, folder: session.folder, ...(network !== undefined && { network }) });
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    throw new ToolFailure(`the sandbox's way to the network could not be made: ${messageOf(error)}`, { cause: error });
  }
}

function mountsFor({ facts }: Pick<CommandFacts, "facts">, features: Features): readonly Mount[] {
  return mountsOf({ ...facts, ownProcesses: features.processes });
}

interface Place {
  readonly cwd: string;
  readonly env: Env;
  readonly networked: boolean;
  readonly detached: boolean;
}

function wordsOf(
  { features, room }: Pick<Workshop, "features" | "room">,
  mounts: readonly Mount[],
  { cwd, env, networked, detached }: Place,
): readonly string[] {
  return bubblewrapWords({
    features,
    mounts,
    cwd,
    env: Object.fromEntries(Object.entries(env).filter(([name]) => name !== "" && !name.includes("="))),
    withoutEnv: [HOLDER_VARIABLE, ...LEADING_OUT],
    network: networked || room === undefined ? "own" : "entered",
    diesWithParent: !detached,
  });
}

function wrapped(
  { program, filterFile, room }: Omit<Workshop, "features">,
  files: Files,
  {
    limits,
    networked,
    argv,
  }: { readonly limits: readonly string[]; readonly networked: boolean; readonly argv: Command["argv"] },
): Command["argv"] {
  const inside = watched(argv, WATCHER_INSIDE);
  const [first, ...rest] = [
    ...limits,
    ...["/bin/sh", "-c", inside === argv ? OPEN_UNWATCHED : OPEN, "sh", files.args, filterFile, files.status],
    ...(networked ? [] : (room?.prefix ?? [])),
    ...[program, "--args", String(DESCRIPTORS.args), "--"],
    ...inside,
  ];
  return [first ?? "/bin/sh", ...rest];
}

/** What bwrap reads and writes of one command. */
interface Files {
  readonly args: string;
  readonly status: string;
}

function writeFiles({ folder }: Session, words: readonly string[]): Files {
  const name = join(folder, String(++started));
  const files = { args: `${name}.args`, status: `${name}.status` };
  writeFileSync(files.args, words.map((word) => `${word}\0`).join(""), { mode: 0o600 });
  writeFileSync(files.status, "", { mode: 0o600 });
  return files;
}

async function removeFiles({ args, status }: Files): Promise<void> {
  await Promise.all([args, status].map((file) => rm(file, { force: true })));
}

/** A working directory that is not there inside. */
function requireVisible(program: string, cwd: string, mounts: readonly Mount[]): void {
  const mount = mountAbove(mounts, cwd);
  if (mount === undefined || mount.at === cwd || !isHidden(mounts, cwd)) return;
  throw new ToolFailure(`cannot start ${program}: the sandbox hides the folder ${cwd}`, {
    hint: "Run it in the workspace, or ask for that folder to be readable.",
  });
}

/** The program that was asked for, in place of the one that was to contain it. */
function renamed(error: unknown, outer: string, program: string): unknown {
  if (!(error instanceof ToolFailure)) return error;
  const start = `cannot start ${outer}: `;
  const message = error.message.startsWith(start)
    ? `cannot start ${program}: ${error.message.slice(start.length)}`
    : error.message.replace(`${outer} `, `${program} `);
  return new ToolFailure(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}

function givenBy({ watcherFile }: Pick<Workshop, "watcherFile">, proxy?: EgressProxy): Extras["given"] {
  const watcher = { at: WATCHER_INSIDE, from: watcherFile };
  return proxy === undefined ? [watcher] : [watcher, { at: PROXY_INSIDE, from: proxy.socket }];
}

const NO_BRIDGE = (argv: Command["argv"]): ReturnType<typeof bridged> => ({ argv, env: {}, paths: [] });
