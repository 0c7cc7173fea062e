import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend, Command, Process } from "../../contract/backend.ts";
import type { SandboxState } from "../../contract/containment.ts";
import { ToolFailure } from "../../contract/failure.ts";
import type { NetworkSettings } from "../../network/settings.ts";
import { messageOf } from "../../util/errors.ts";
import { isInside } from "../../util/paths.ts";
import { ALL_FEATURES } from "./bubblewrap.ts";
import { privateCaches } from "./caches.ts";
import { spawnContained } from "./contained.ts";
import { WATCHER } from "./ending.ts";
import { explained, impossible, notInstalled, thisMachine } from "./explain.ts";
import { factFinder } from "./facts.ts";
import { hiddenPaths, realOf } from "./hidden.ts";
import { type LimitSettings, createLimits } from "./limits.ts";
import { openNetworkRoom } from "./network-room.ts";
import { missingOf, probe } from "./probe.ts";
import { systemProgram } from "./programs.ts";
import { seccompFilter } from "./seccomp/filter.ts";
import { openSession } from "./session.ts";
import { type Workshop, trialWords } from "./wrap.ts";

/** Bytes that stay free on a disk: 512 MiB. */
const DISK_FREE = 536_870_912;

export interface SandboxOptions {
  /** True: without a working sandbox nothing runs. Default false: commands then run without one. */
  readonly required?: boolean;
  /** For private temporary files and caches. Commands see nothing of it but these. */
  readonly folder: string;
  /** Folders that may be written beside the working directory; absolute or with ~. Default: none. */
  readonly writable?: readonly string[];
  /** Paths hidden beside the usual secrets, absolute or with ~. Default: none. */
  readonly hidden?: readonly string[];
  /** Whether a path may not be written even inside a writable folder. Default: none, but what leads git to other programs. */
  readonly isProtected?: (path: string) => boolean;
  /** What no grant lets through. */
  readonly network?: NetworkSettings;
  readonly limits?: LimitSettings;
}

type Ready =
  | { readonly works: true; readonly missing: readonly string[]; readonly shop: Workshop; close(): Promise<void> }
  | Extract<SandboxState, { works: false }>;

/**
 * Contains the commands of this machine's backend with bubblewrap: the system read-only, secrets hidden, no network, processes of their own.
 * Helpers of ours are left as they are. Whether it works is tried at the first command, or when it is asked.
 */
export async function sandbox(inner: Backend, options: SandboxOptions): Promise<Backend> {
  const { required = false, folder, writable = [], hidden = [] } = options;
  const base = { workDir: inner.workDir, home: realOf(inner.home) };
  const hiding = [...hidden, folder];
  let ready: Promise<Ready> | undefined;
  let closed = false;
  const prepared = () => {
    ready ??= prepare(inner, { ...options, hidden: hiding, writable }, base);
    return ready;
  };

  const spawn = async (command: Command): Promise<Process> => {
    const { within = {} } = command;
    if (closed || within === "none") return inner.spawn(command);
    const state = await prepared();
    if (state.works) return spawnContained(command, within, state.shop);
    if (!required) return inner.spawn(command);
    throw new ToolFailure(
      `cannot start ${command.argv[0]}: the sandbox is required, and does not work here. ${state.reason}`,
      {
        hint: state.fix,
      },
    );
  };

  return {
    name: `sandbox(${inner.name})`,
    workDir: inner.workDir,
    home: inner.home,
    files: inner.files,
    spawn,
    helper: (program, args, helperOptions) => inner.helper(program, args, helperOptions),
    sandbox: {
      required,
      hidden: hiddenPaths(hiding, base, "all").hidden.map(({ path }) => path),
      async state() {
        const state = await prepared();
        if (!state.works) return { works: false, reason: state.reason, fix: state.fix };
        return { works: true, missing: state.missing };
      },
    },
    ...(inner.detached !== undefined && { detached: inner.detached }),
    async close() {
      closed = true;
      await inner.close();
      const state = await ready;
      if (state?.works === true) await state.close();
    },
  };
}

type Prepared = SandboxOptions & Required<Pick<SandboxOptions, "hidden" | "writable">>;

/** Finds out what works here, and makes what all commands share. Never rejects. */
async function prepare(
  inner: Backend,
  options: Prepared,
  base: { readonly workDir: string; readonly home: string },
): Promise<Ready> {
  const machine = thisMachine();
  const problem = impossible(machine, base.workDir);
  if (problem !== undefined) return problem;
  const program = systemProgram("bwrap");
  // One that commands could have put there is none.
  if (program === undefined || [base.workDir, ...options.writable].some((root) => isInside(realOf(program), root)))
    return notInstalled(machine);
  try {
    return await furnish(inner, program, options, base);
  } catch (error) {
    return {
      works: false,
      reason: `The sandbox's own files could not be made in ${options.folder}: ${messageOf(error)}.`,
      fix: "See that the state folder can be written and its disk is not full.",
    };
  }
}

async function furnish(
  inner: Backend,
  program: string,
  { folder, writable, hidden, isProtected = () => false, network, limits: limitSettings = {} }: Prepared,
  base: { readonly workDir: string; readonly home: string },
): Promise<Ready> {
  const session = openSession(realOf(folder));
  const caches = privateCaches({ folder: realOf(folder), ...base });
  const filter = seccompFilter();
  const filterFile = join(session.folder, "filter");
  const watcherFile = join(session.folder, "watcher");
  writeFileSync(filterFile, filter ?? "", { mode: 0o600 });
  writeFileSync(watcherFile, WATCHER, { mode: 0o600 });
  const factsFor = factFinder({
    ...base,
    writable,
    hidden,
    isProtected,
    caches: caches.folder,
    tmp: session.tmp,
    varTmp: session.varTmp,
  });
  const [limits, room] = await Promise.all([createLimits(limitSettings), openNetworkRoom()]);
  const { diskFree = DISK_FREE } = limitSettings;
  const shop = { inner, program, session, caches, limits, room, network, diskFree, filterFile, watcherFile, factsFor };
  const close = async () => {
    await Promise.all([limits.close(), room?.close()]);
    await session.close();
  };
  const first = { ...ALL_FEATURES, filter: filter !== undefined };
  const probed = await probe(inner, (features) => trialWords(shop, features, ["true"]), first);
  if (!probed.works) {
    await close();
    return explained(probed.output, thisMachine());
  }
  const missing = [
    ...missingOf(probed.features),
    ...(room === undefined
      ? ["A server in one command is not reached from another: a network for them together cannot be made here."]
      : []),
    ...limits.missing,
  ];
  return { works: true, missing, shop: { ...shop, features: probed.features }, close };
}
