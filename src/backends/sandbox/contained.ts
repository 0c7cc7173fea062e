import type { Command, OutputLog, Process } from "../../contract/backend.ts";
import type { Needs, Refusal } from "../../contract/containment.ts";
import { ToolFailure } from "../../contract/failure.ts";
import { messageOf } from "../../util/errors.ts";
import { commandEnvironment } from "../local/environment.ts";
import { HOLDER_VARIABLE } from "../local/spawner/kill-tree.ts";
import { bridged } from "./bridge-command.ts";
import { guardDisk } from "./disk-guard.ts";
import { exitInside, isSetUp } from "./ending.ts";
import { realCwd } from "../working-folder.ts";
import { type CommandFacts, removeEmpty } from "./facts.ts";
import { holdBack } from "./new-repositories.ts";
import type { CommandLimits } from "./limits.ts";
import { NO_RETRIES } from "./offline.ts";
import { type Mount, heldBelow, isHidden, isWritable, mountAbove, repositoryOf } from "./mounts.ts";
import type { EgressProxy } from "./proxy.ts";
import { putAside } from "./put-aside.ts";
import { requireStartable } from "./startable.ts";
import {
  type Files,
  PROXY_INSIDE,
  type Workshop,
  givenBy,
  mountsFor,
  opening,
  removeFiles,
  wordsOf,
  wrapped,
  writeFiles,
} from "./wrap.ts";

/** So much of the end of the output is looked through for what the sandbox refused. 64 KiB. */
const LOOKED_THROUGH = 65_536;

/** So often a sandbox is set up anew where that fails: nothing has been run then. */
const MOST_ATTEMPTS = 12;

/**
 * Starts a command in a sandbox of its own.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function spawnContained(
  command: Command,
  needs: Needs,
  shop: Workshop,
  attempts = MOST_ATTEMPTS,
): Promise<Process> {
  const { argv, lifetime = "call", signal } = command;
  const isDetached = lifetime === "detached";
  const [program] = argv;
  const cwd = await realCwd(command, shop.inner.files);
  requireStartable(argv, cwd, commandEnvironment(process.env, [], { ...command.env }));
  if (signal?.aborted) throw new ToolFailure(`${program} was stopped before it was started`);
  const hosts = needs.network ?? [];
  const networked = hosts.length > 0;
  if (networked && isDetached) {
    throw new ToolFailure("a detached command has no network in the sandbox: its way out would end with this session", {
      hint: "Start it as a job, or ask to run it outside the sandbox.",
    });
  }
  const proxy = networked ? await proxyFor(hosts, shop) : undefined;
  const limits = await shop.limits.forCommand(opening());
  let released: Promise<unknown> | undefined;
  const release = async () => {
    released ??= Promise.all([proxy?.close(), limits.dispose()]);
    await released;
  };
  let files: Files | undefined;
  let begun: Pick<CommandFacts, "made" | "sequence"> | undefined;
  /** What was made for a command that was not started. */
  const undo = () => {
    begun?.sequence.cancel();
    removeEmpty(begun?.made ?? []);
  };
  try {
    const { argv: inside, env: bridge, paths } = proxy === undefined ? NO_BRIDGE(argv) : bridged(argv, PROXY_INSIDE);
    await shop.settle();
    const found = shop.factsFor(needs, { reopened: paths, given: givenBy(shop, proxy) });
    begun = found;
    const { facts, appeared, made, repositories, isMade, sequence } = found;
    const mounts = mountsFor({ facts }, shop.features);
    requireVisible(program, cwd, mounts);
    const env = {
      ...shop.caches.environment(networked),
      ...(networked ? {} : NO_RETRIES),
      TMPDIR: "/tmp",
      ...command.env,
      ...bridge,
    };
    files = writeFiles(shop.session, wordsOf(shop, mounts, { cwd, env, networked, isDetached }));
    const outside: Command = {
      ...command,
      cwd,
      argv: wrapped(shop, files, { prefix: limits.prefix, networked, argv: inside }),
      env: { [HOLDER_VARIABLE]: shop.session.id },
    };
    sequence.start();
    const child = await shop.inner.spawn(outside).catch((error: unknown) => {
      throw renamed(error, outside.argv[0], program);
    });
    // What was there when it was looked at, a socket of somebody's, can be gone when it is mounted.
    if (attempts > 1 && !(await isSetUp(child, files.status))) {
      undo();
      await Promise.all([release(), removeFiles(files), child.output.dispose(), child.errors?.dispose()]);
      return await spawnContained(command, needs, shop, attempts - 1);
    }
    if (isDetached) {
      shop.session.keep();
      sequence.cancel();
      return child;
    }
    return watchedOver(child, {
      command,
      cwd,
      mounts,
      made,
      async holdBack() {
        const { files: inner } = shop.inner;
        await shop.settle();
        const gitFolders = repositories();
        return [
          ...appeared().filter(putAside),
          ...(await sequence.end(gitFolders, inner)),
          ...(await holdBack(gitFolders, { files: inner, isMade })),
        ];
      },
      networked,
      shop,
      limits,
      proxy,
      files,
      release,
    });
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
  readonly made: readonly string[];
  /** What of repositories led to programs and does no more. */
  holdBack(): Promise<readonly string[]>;
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
    const appeared = await running.holdBack();
    removeEmpty(running.made);
    return { exit, said, appeared };
  })();
  const refusals = ended.then(async ({ exit, said, appeared }): Promise<readonly Refusal[]> => {
    const hit = await running.limits.hit().catch(() => []);
    await Promise.all([running.release(), removeFiles(files)]).catch(() => undefined);
    const { mostSpecific, refusalsIn } = await import("./refusals.ts");
    return mostSpecific([
      ...appeared.map((path): Refusal => ({ kind: "held-back", path })),
      ...(running.proxy?.refused() ?? []).map((each): Refusal => ({ kind: "host", ...each })),
      ...hit.map((what): Refusal => ({ kind: "limit", what })),
      ...(isDiskFull ? [{ kind: "limit", what: "disk" } as const] : []),
      ...inTheWay(
        refusalsIn(said, {
          exit,
          networked: running.networked,
          isWritable: (path) => isWritable(mounts, path) && heldBelow(mounts, path).length === 0,
          isHidden: (path) => isHidden(mounts, path),
          workDir: running.cwd,
          home: shop.inner.home,
        }),
        mounts,
      ),
    ]);
  });
  const refused = refusals.catch(() => []);
  return {
    id: child.id,
    output: child.output,
    errors: child.errors,
    // Whoever hears of the end can tell at once what it was kept from.
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

/** More refused paths of one repository than this are somebody who would remove it. */
const MOST_OF_ONE = 2;

/** A folder that could not be moved or removed: not it was refused, but what is held in it. */
function inTheWay(refusals: readonly Refusal[], mounts: readonly Mount[]): readonly Refusal[] {
  const all = refusals.flatMap((refusal) => {
    const held = refusal.kind === "write" ? heldBelow(mounts, refusal.path) : [];
    return held.length === 0 ? [refusal] : held.map((path): Refusal => ({ kind: "write", path }));
  });
  const repositories = all.flatMap((each) => (each.kind === "write" ? [repositoryOf(each.path)] : []));
  return all.map((each) => {
    if (each.kind !== "write") return each;
    const repository = repositoryOf(each.path);
    const isOneOfMany = repositories.filter((other) => other === repository).length > MOST_OF_ONE;
    return repository !== undefined && isOneOfMany ? { kind: "write", path: repository } : each;
  });
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

const NO_BRIDGE = (argv: Command["argv"]): ReturnType<typeof bridged> => ({ argv, env: {}, paths: [] });
