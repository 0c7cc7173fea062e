import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Command, OutputLog, Process } from "../../../core/contract/backend.ts";
import type { SandboxAccess, Refusal } from "../../../core/contract/containment.ts";
import { ToolFailure } from "../../../core/contract/failure.ts";
import { tried } from "../../../core/util/errors.ts";
import { isInside } from "../../../core/util/paths.ts";
import { DISK } from "../../git/disk.ts";
import { commandEnvironment } from "../../local/environment.ts";
import { HOLDER_VARIABLE } from "../../spawner/kill-tree.ts";
import { guardDisk } from "../limits/disk-guard.ts";
import { exitInside, isSetUp } from "./exit-status.ts";
import { requireUnstopped } from "../../process/run.ts";
import { realCwd } from "../../process/command.ts";
import type { CommandLimits } from "../limits/limits.ts";
import { type Mount, hiddenIn, isHidden, mountAbove } from "../mounts/mounts.ts";
import type { EgressProxy } from "../egress/proxy.ts";
import type { Unread } from "../mounts/protected.ts";
import { putAside } from "../mounts/put-aside.ts";
import { holdBack } from "../mounts/repositories.ts";
import { leftRefusals, newStartUpFiles } from "../mounts/start-up-files.ts";
import type { EnteredNetwork, JobPorts } from "../egress/ports.ts";
import type { Ready, ReadySandboxes } from "./ready.ts";
import { requireStartable } from "./startable.ts";
import { type Cleaning, type View, cleaner, isNetworked, viewFor } from "./view.ts";
import { type Files, type SandboxContext, opening, removeFiles, wrapped, writeFiles } from "./wrap.ts";

/** Bytes at the end of the output that are searched for signs of refusals: 64 KiB. */
const LOOKED_THROUGH = 65_536;

/** How many refused hosts are reported. */
const MAX_HOSTS = 10;

/** How often the setup of a sandbox is attempted. Nothing has run when the setup fails. */
const MOST_ATTEMPTS = 12;

/**
 * Starts a command in its own sandbox: one of `ahead` that waits, if it is what would be set up now, otherwise a new
 * one.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnContained(
  command: Command,
  access: SandboxAccess,
  context: SandboxContext,
  ahead?: ReadySandboxes,
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
  const use = await ahead?.use(command, access);
  try {
    for (let attempt = 1; ; attempt++) {
      const cleaning = cleaner();
      const ready = attempt === 1 ? use?.ready : undefined;
      try {
        const contained = await contain({ ...command, cwd }, { access, context, cleaning, ready });
        const child = await contained.start();
        // Something that existed during the check, such as a socket, may be gone when it is mounted.
        if (attempt < MOST_ATTEMPTS && !(await isSetUp(child, contained.files.status))) {
          if (!contained.isReady) context.failed(); // what an earlier session found may have changed since
          await Promise.all([cleaning.run(), child.output.dispose(), child.errors?.dispose()]);
          continue;
        }
        if (lifetime === "detached") {
          context.session.keep();
          return child;
        }
        if (use !== undefined) cleaning.add(use.done);
        const watched = watchedOver(child, { ...contained, program: argv[0], cwd, context, cleaning });
        return lifetime === "call" ? watched : { ...watched, ...portsOf(child, contained.network) };
      } catch (error) {
        await cleaning.run();
        throw error;
      }
    }
  } catch (error) {
    use?.done();
    throw error;
  }
}

/** A command in its sandbox, before it starts. */
interface ContainedCommand {
  /** Rejects with a `ToolFailure` when it cannot be started. */
  start(): Promise<Process>;
  /** Whether its sandbox was set up before. */
  readonly isReady: boolean;
  readonly files: Files;
  readonly mounts: readonly Mount[];
  readonly unread: Unread | undefined;
  readonly limits: CommandLimits;
  readonly proxy: EgressProxy | undefined;
  /** The network that the command shares; `undefined` if it has its own. */
  readonly network: EnteredNetwork | undefined;
  /** Disables what the command left that leads other programs to programs. Resolves to what was found. */
  heldBack(): Promise<readonly Refusal[]>;
}

interface Containing {
  readonly access: SandboxAccess;
  readonly context: SandboxContext;
  /** Gets the steps that remove what was created. */
  readonly cleaning: Cleaning;
  /** A sandbox that waits. It is used, or ended. */
  readonly ready: Ready | undefined;
}

/** Creates what one command needs. @throws ToolFailure */
async function contain(
  command: Command & { readonly cwd: string },
  { access, context, cleaning, ready }: Containing,
): Promise<ContainedCommand> {
  const { argv, cwd, lifetime } = command;
  cleaning.add(() => ready?.end()); // without effect if the command has it
  const view = await viewFor(command, access, context, cleaning);
  const { mounts, found, proxy } = view;
  requireVisible(argv[0], cwd, mounts, found.unread);
  const used = ready?.suits(view) === true ? ready : undefined;
  const limits = used?.limits ?? (await context.limits.forCommand(opening()));
  cleaning.add(limits.dispose);
  const isDetached = lifetime === "detached";
  const files = used?.files ?? writeFiles(context.session, view.words({ cwd, env: view.env, isDetached }));
  cleaning.add(() => removeFiles(files));
  const before = found.before();
  const { end } = context.session.begin(before);
  cleaning.add(end);
  const shared = isNetworked(access) ? undefined : context.sharedNetwork;
  return {
    start: () => (used === undefined ? startNew(command, view, { context, limits, files }) : used.run(command, view)),
    isReady: used !== undefined,
    files,
    mounts,
    unread: found.unread,
    limits,
    proxy,
    network: shared && { prefix: shared.prefix, folder: context.session.folder },
    async heldBack() {
      await context.settle();
      if (access.readOnly !== true) await context.readPackages();
      const { gitFolders, startUp } = found.after();
      const git = holdBack(before, gitFolders);
      const { aside, named } = newStartUpFiles(DISK, before, startUp);
      return leftRefusals({ git, aside: aside.filter(putAside), named });
    },
  };
}

function startNew(
  command: Command,
  { argv, networked }: View,
  { context, limits, files }: Pick<ContainedCommand, "limits" | "files"> & Pick<Containing, "context">,
): Promise<Process> {
  const [outer, ...words] = wrapped(context, files, { prefix: limits.prefix, networked, argv });
  return context.inner
    .spawn({ ...command, argv: [outer, ...words], env: { [HOLDER_VARIABLE]: context.session.id } })
    .catch((error: unknown) => {
      throw renamed(error, outer, command.argv[0]);
    });
}

interface Running extends ContainedCommand {
  readonly program: string;
  readonly cwd: string;
  readonly context: SandboxContext;
  readonly cleaning: Cleaning;
}

/** Returns the process as it would be without a sandbox, with the refusals added. */
function watchedOver(child: Process, running: Running): Process {
  const { program, cwd, mounts, unread, context, files, limits, proxy, cleaning } = running;
  let isDiskFull = false;
  const written = mounts.flatMap(({ kind, at }) =>
    kind === "writable" && unread?.read.includes(at) !== true ? [at] : [],
  );
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
    const found = refusalsIn({ exit, output, hidden: hiddenIn(mounts), unread, cwd, home: context.inner.home });
    return [
      ...appeared,
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

/** Refuses a program or a working directory that is hidden inside the sandbox. @throws ToolFailure */
function requireVisible(program: string, cwd: string, mounts: readonly Mount[], unread: Unread | undefined): void {
  const file = program.includes("/") ? resolve(cwd, program) : undefined;
  const real = file === undefined ? undefined : (tried(() => realpathSync(file)) ?? file);
  if (real !== undefined && [file ?? real, real].some((path) => isHidden(mounts, path))) {
    throw new ToolFailure(`cannot start ${program}: the sandbox hides it`, {
      hint: `Install it elsewhere, or run it outside the sandbox: sandbox: false.`,
    });
  }
  const mount = mountAbove(mounts, cwd);
  if (mount === undefined || mount.at === cwd || !isHidden(mounts, cwd)) return;
  if (unread?.folders.some((folder) => isInside(cwd, folder)) === true)
    throw new ToolFailure(
      `cannot start ${program}: ${cwd} is hidden from a command with hosts, since it has not been looked at for secrets`,
      {
        hint: unread.isGoingOn
          ? "Try again in a moment."
          : "Its workspace has too many folders. Start in a smaller one.",
      },
    );
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
