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
): Promise<Process> {
  const { argv, lifetime = "call" } = command;
  const cwd = await realCwd(command, context.inner.files);
  requireStartable(argv, cwd, commandEnvironment(process.env, [], { ...command.env }));
  requireUnstopped(command);
  if (lifetime === "detached" && isNetworked(access)) {
    throw new ToolFailure("a detached command has no network in the sandbox: the proxy ends with this session", {
      hint: "Start it as a job, or ask to run it outside the sandbox.",
    });
  }
  for (let attempt = 1; ; attempt++) {
    const cleaning = cleaner();
    try {
      const contained = await contain({ ...command, cwd }, access, context, cleaning);
      const [outer] = contained.argv;
      const child = await context.inner
        .spawn({ ...command, cwd, argv: contained.argv, env: { [HOLDER_VARIABLE]: context.session.id } })
        .catch((error: unknown) => {
          throw renamed(error, outer, argv[0]);
        });
      // Something that existed during the check, such as a socket, may be gone when it is mounted.
      if (attempt < MOST_ATTEMPTS && !(await isSetUp(child, contained.files.status))) {
        context.failed(); // what an earlier session found may have changed since
        await Promise.all([cleaning.run(), child.output.dispose(), child.errors?.dispose()]);
        continue;
      }
      if (lifetime === "detached") {
        context.session.keep();
        return child;
      }
      const watched = watchedOver(child, { ...contained, program: argv[0], cwd, context, cleaning });
      return lifetime === "call" ? watched : { ...watched, ...portsOf(child, contained.network) };
    } catch (error) {
      await cleaning.run();
      throw error;
    }
  }
}

const isNetworked = ({ network = [] }: SandboxAccess) => network.length > 0;

/** What is undone after a command, in any order. `run` undoes it once, and never rejects. */
interface Cleaning {
  add(undo: () => unknown): void;
  run(): Promise<unknown>;
}

function cleaner(): Cleaning {
  const all: (() => unknown)[] = [];
  let done: Promise<unknown> | undefined;
  return {
    add: (undo) => void all.push(undo),
    run: () => (done ??= Promise.allSettled(all.map(async (undo) => undo()))),
  };
}

/** A command in its sandbox, before it starts. */
interface ContainedCommand {
  readonly argv: Command["argv"];
  readonly files: Files;
  readonly mounts: readonly Mount[];
  readonly limits: CommandLimits;
  readonly proxy: EgressProxy | undefined;
  /** The network that the command shares; `undefined` if it has its own. */
  readonly network: EnteredNetwork | undefined;
  /** Disables what the command left in repositories if it leads git to programs. Resolves to the paths. */
  heldBack(): Promise<readonly string[]>;
}

/** Creates what one command needs. `cleaning` gets the steps that remove it. @throws ToolFailure */
async function contain(
  command: Command & { readonly cwd: string },
  access: SandboxAccess,
  context: SandboxContext,
  cleaning: Cleaning,
): Promise<ContainedCommand> {
  const { argv, cwd, lifetime } = command;
  const networked = isNetworked(access);
  const proxy = networked ? await proxyFor(access.network ?? [], context) : undefined;
  cleaning.add(() => proxy?.close());
  const limits = await context.limits.forCommand(opening());
  cleaning.add(limits.dispose);
  const bridge = proxy === undefined ? { argv, env: {}, paths: [] } : bridged(argv, PROXY_INSIDE);
  await context.settle();
  const found = context.factsFor(access, { reopened: bridge.paths, given: givenBy(context, proxy) });
  cleaning.add(() => removeEmpty(found.made));
  const mounts = mountsOf({ ...found.facts, ownProcesses: context.features.processes });
  requireVisible(argv[0], cwd, mounts);
  const env = {
    ...context.caches.environment(networked),
    ...(networked ? {} : NO_RETRIES),
    TMPDIR: "/tmp",
    ...command.env,
    ...bridge.env,
  };
  const shared = networked ? undefined : context.sharedNetwork;
  const how = { cwd, env, isDetached: lifetime === "detached", hasOwnNetwork: shared === undefined };
  const files = writeFiles(context.session, bubblewrapWords(context.features, mounts, how));
  cleaning.add(() => removeFiles(files));
  const before = found.before();
  const { end } = context.session.begin(before);
  cleaning.add(end);
  return {
    argv: wrapped(context, files, { prefix: limits.prefix, networked, argv: bridge.argv }),
    files,
    mounts,
    limits,
    proxy,
    network: shared && { prefix: shared.prefix, folder: context.session.folder },
    async heldBack() {
      await context.settle();
      return holdBack(before, found.gitFolders());
    },
  };
}

interface Running extends ContainedCommand {
  readonly program: string;
  readonly cwd: string;
  readonly context: SandboxContext;
  readonly cleaning: Cleaning;
}

/** Returns the process as it would be without a sandbox, with the refusals added. */
function watchedOver(child: Process, running: Running): Process {
  const { program, cwd, mounts, context, files, limits, proxy, cleaning } = running;
  let isDiskFull = false;
  const written = mounts.flatMap(({ kind, at }) => (kind === "writable" ? [at] : []));
  const disk = guardDisk({
    folders: [...new Set([...written, context.session.folder])],
    diskFree: context.diskFree,
    full: () => {
      isDiskFull = true;
      void child.kill();
    },
  });
  const ended = (async () => {
    const outer = await child.exit;
    disk.stop();
    const output = await endOf(child);
    return { output, exit: exitInside(outer, program, files.status, output), appeared: await running.heldBack() };
  })();
  const refusals = ended.then(async ({ exit, output, appeared }): Promise<readonly Refusal[]> => {
    const hit = await limits.hit().catch(() => []);
    await cleaning.run();
    const hosts = proxy?.refused() ?? [];
    const { refusalsIn } = await import("./refusals.ts");
    const found = refusalsIn({ exit, output, hidden: hiddenIn(mounts), cwd, home: context.inner.home });
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
