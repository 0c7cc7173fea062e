import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Command, OutputLog, Process } from "../../../contract/backend.ts";
import type { SandboxAccess, Refusal } from "../../../contract/containment.ts";
import { ToolFailure } from "../../../contract/failure.ts";
import { readablePath } from "../../../util/byte-paths.ts";
import { messageOf, tried } from "../../../util/errors.ts";
import { commandEnvironment } from "../../local/environment.ts";
import { HOLDER_VARIABLE } from "../../spawner/kill-tree.ts";
import { bridged } from "../egress/bridge-command.ts";
import { bubblewrapWords } from "./bubblewrap.ts";
import { guardDisk } from "../limits/disk-guard.ts";
import { exitInside, isSetUp } from "./exit-status.ts";
import { requireUnstopped } from "../../process/run.ts";
import { realCwd } from "../../process/command.ts";
import { removeEmpty } from "../mounts/facts.ts";
import type { CommandLimits } from "../limits/limits.ts";
import { NO_RETRIES } from "../session/caches.ts";
import { type Mount, hiddenIn, isHidden, mountAbove, mountsOf } from "../mounts/mounts.ts";
import type { EgressProxy } from "../egress/proxy.ts";
import { holdBack } from "../mounts/repositories.ts";
import type { EnteredNetwork, JobPorts } from "../egress/ports.ts";
import { requireStartable } from "./startable.ts";
import {
  type Files,
  PROXY_INSIDE,
  type SandboxContext,
  givenBy,
  opening,
  removeFiles,
  wrapped,
  writeFiles,
} from "./wrap.ts";

/** Bytes at the end of the output that are searched for signs of refusals: 64 KiB. */
const LOOKED_THROUGH = 65_536;

/** How many refused hosts are reported. */
const MAX_HOSTS = 10;

/** How often the setup of a sandbox is attempted. Nothing has run when the setup fails. */
const MOST_ATTEMPTS = 12;

/** Starts a command in its own sandbox. @throws ToolFailure when it cannot be started. */
export async function spawnContained(
  command: Command,
  access: SandboxAccess,
  context: SandboxContext,
  attempts = MOST_ATTEMPTS,
): Promise<Process> {
  const { argv, lifetime = "call" } = command;
  const isDetached = lifetime === "detached";
  const [program] = argv;
  const cwd = await realCwd(command, context.inner.files);
  requireStartable(argv, cwd, commandEnvironment(process.env, [], { ...command.env }));
  requireUnstopped(command);
  const hosts = access.network ?? [];
  const networked = hosts.length > 0;
  if (networked && isDetached) {
    throw new ToolFailure("a detached command has no network in the sandbox: the proxy ends with this session", {
      hint: "Start it as a job, or ask to run it outside the sandbox.",
    });
  }
  const proxy = networked ? await proxyFor(hosts, context) : undefined;
  const limits = context.limits.forCommand(opening());
  let released: Promise<unknown> | undefined;
  const release = async () => {
    released ??= Promise.all([proxy?.close(), limits.dispose()]);
    await released;
  };
  let files: Files | undefined;
  let made: readonly string[] = [];
  let running: { end(): void } | undefined;
  /** Removes what was created for a command that was not started. */
  const undo = () => {
    running?.end();
    removeEmpty(made);
  };
  try {
    const { argv: inside, env: bridge, paths } = proxy === undefined ? NO_BRIDGE(argv) : bridged(argv, PROXY_INSIDE);
    await context.settle();
    const found = context.factsFor(access, { reopened: paths, given: givenBy(context, proxy) });
    made = found.made;
    const { facts } = found;
    const mounts = mountsOf({ ...facts, ownProcesses: context.features.processes });
    requireVisible(program, cwd, mounts);
    const env = {
      ...context.caches.environment(networked),
      ...(networked ? {} : NO_RETRIES),
      TMPDIR: "/tmp",
      ...command.env,
      ...bridge,
    };
    const hasOwnNetwork = networked || context.sharedNetwork === undefined;
    const words = bubblewrapWords(context.features, mounts, { cwd, env, isDetached, hasOwnNetwork });
    files = writeFiles(context.session, words);
    const outside: Command = {
      ...command,
      cwd,
      argv: wrapped(context, files, { prefix: limits.prefix, networked, argv: inside }),
      env: { [HOLDER_VARIABLE]: context.session.id },
    };
    const before = found.before();
    running = context.session.begin(before);
    const child = await context.inner.spawn(outside).catch((error: unknown) => {
      throw renamed(error, outside.argv[0], program);
    });
    // Something that existed during the check, such as a socket, can be gone when it is mounted.
    if (attempts > 1 && !(await isSetUp(child, files.status))) {
      context.failed(); // what an earlier session found may have changed since
      undo();
      await Promise.all([release(), removeFiles(files), child.output.dispose(), child.errors?.dispose()]);
      return await spawnContained(command, access, context, attempts - 1);
    }
    if (isDetached) {
      context.session.keep();
      return child;
    }
    /** Disables what the command left in repositories that leads git to programs. Returns the paths. */
    const heldBack = async () => {
      await context.settle();
      const changed = holdBack(before, found.gitFolders());
      running?.end();
      removeEmpty(made);
      return changed;
    };
    const watched = watchedOver(child, { command, cwd, mounts, heldBack, context, limits, proxy, files, release });
    const network = hasOwnNetwork ? undefined : context.sharedNetwork;
    const entered = network && { prefix: network.prefix, folder: context.session.folder };
    return lifetime === "call" ? watched : { ...watched, ...portsOf(child, entered) };
  } catch (error) {
    undo();
    await release();
    if (files !== undefined) await removeFiles(files);
    throw error;
  }
}

interface Running {
  readonly command: Command;
  readonly cwd: string;
  readonly mounts: readonly Mount[];
  heldBack(): Promise<readonly string[]>;
  readonly context: SandboxContext;
  readonly limits: CommandLimits;
  readonly proxy: EgressProxy | undefined;
  readonly files: Files;
  release(): Promise<void>;
}

/** Returns the process as it would be without a sandbox, with the refusals added. */
function watchedOver(child: Process, running: Running): Process {
  const { command, mounts, context, files } = running;
  let isDiskFull = false;
  const disk = guardDisk({
    folders: [
      ...new Set(mounts.flatMap(({ kind, at }) => (kind === "writable" ? [at] : [])).concat(context.session.folder)),
    ],
    diskFree: context.diskFree,
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
    const appeared = await running.heldBack();
    return { exit, said, appeared };
  })();
  const refusals = ended.then(async ({ exit, said, appeared }): Promise<readonly Refusal[]> => {
    const hit = running.limits.hit();
    await Promise.all([running.release(), removeFiles(files)]).catch(() => undefined);
    const hosts = running.proxy?.refused() ?? [];
    const { refusalsIn } = await import("./refusals.ts");
    const found = refusalsIn({
      exit,
      output: said,
      hidden: hiddenIn(mounts),
      cwd: running.cwd,
      home: context.inner.home,
    });
    return [
      ...Array.from(new Set(appeared), (path): Refusal => ({ kind: "held-back", path: readablePath(path) })),
      ...hosts.slice(0, MAX_HOSTS).map((each): Refusal => ({ kind: "host", ...each })),
      ...hit.map((what): Refusal => ({ kind: "limit", what })),
      ...(isDiskFull ? [{ kind: "limit", what: "disk" } as const] : []),
      ...found.filter((each) => each.kind !== "likely" || each.what !== "network" || hosts.length === 0),
    ];
  });
  const refused = refusals.catch(() => []);
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    // Resolves after `refusals`, which are then available at once.
    exit: refused.then(async () => (await ended).exit),
    refusals: refused,
    write: (text) => child.write(text),
    endInput: () => child.endInput(),
    async kill() {
      await child.kill();
      await refused;
    },
  };
}

function portsOf(job: Process, network: EnteredNetwork | undefined): JobPorts {
  let loaded: Promise<JobPorts> | undefined;
  const ports = () => (loaded ??= import("../egress/ports.ts").then(({ jobPorts }) => jobPorts(job, network)));
  return {
    ports: async () => (await ports()).ports(),
    openPort: async (port) => (await ports()).openPort(port),
    reachPort: async (port) => (await ports()).reachPort(port),
  };
}

/** The end of the process's output; "" if the output was released. Never rejects. */
async function endOf({ output, errors }: Process): Promise<string> {
  const tailOf = async (log: OutputLog | undefined) => {
    const bytes = await log?.tail(LOOKED_THROUGH).catch(() => undefined);
    return bytes === undefined ? "" : Buffer.from(bytes).toString();
  };
  const tails = await Promise.all([tailOf(output), tailOf(errors)]);
  return tails.filter((text) => text !== "").join("\n");
}

async function proxyFor(hosts: readonly string[], { network, session }: SandboxContext): Promise<EgressProxy> {
  const { startProxy } = await import("../egress/proxy.ts");
  try {
    return await startProxy({ hosts, folder: session.folder, ...(network !== undefined && { network }) });
  } catch (error) {
    if (error instanceof ToolFailure) throw error;
    throw new ToolFailure(`the sandbox's proxy could not be started: ${messageOf(error)}`, { cause: error });
  }
}

/** Refuses a program or a working directory that is hidden inside the sandbox. @throws ToolFailure */
function requireVisible(program: string, cwd: string, mounts: readonly Mount[]): void {
  const file = program.includes("/") ? resolve(cwd, program) : undefined;
  const real = file === undefined ? undefined : (tried(() => realpathSync(file)) ?? file);
  if (real !== undefined && [file ?? real, real].some((path) => isHidden(mounts, path))) {
    throw new ToolFailure(`cannot start ${program}: the sandbox hides it`, {
      hint: `Install it elsewhere, or run it outside the sandbox: sandbox: false.`,
    });
  }
  const mount = mountAbove(mounts, cwd);
  if (mount === undefined || mount.at === cwd || !isHidden(mounts, cwd)) return;
  throw new ToolFailure(`cannot start ${program}: the sandbox hides the folder ${cwd}`, {
    hint: "Run it in the workspace, or ask for the folder with read.",
  });
}

/** Names the requested program in a failure, instead of the program that would have contained it. */
function renamed(error: unknown, outer: string, program: string): unknown {
  if (!(error instanceof ToolFailure)) return error;
  const start = `cannot start ${outer}: `;
  const message = error.message.startsWith(start)
    ? `cannot start ${program}: ${error.message.slice(start.length)}`
    : error.message.replace(`${outer} `, `${program} `);
  return new ToolFailure(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}

const NO_BRIDGE = (argv: Command["argv"]): ReturnType<typeof bridged> => ({ argv, env: {}, paths: [] });
