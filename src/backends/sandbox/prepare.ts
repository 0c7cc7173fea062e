import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Backend, Command, Process } from "../../contract/backend.ts";
import type { Needs, SandboxState } from "../../contract/containment.ts";
import { messageOf } from "../../util/errors.ts";
import { isInside } from "../../util/paths.ts";
import { ALL_FEATURES } from "./bubblewrap.ts";
import { privateCaches } from "./caches.ts";
import { spawnContained } from "./contained.ts";
import { WATCHER } from "./ending.ts";
import { explained, impossible, notInstalled, thisMachine } from "./explain.ts";
import { factFinder } from "./facts.ts";
import { folderChanges } from "./folder-changes.ts";
import { type Homes, realOf } from "./hidden.ts";
import { createLimits } from "./limits.ts";
import { openNetworkRoom } from "./network-room.ts";
import type { SandboxOptions } from "./options.ts";
import { missingOf, probe } from "./probe.ts";
import { systemProgram } from "./programs.ts";
import { seccompFilter } from "./seccomp/filter.ts";
import { openSession } from "./session.ts";
import { type Temporary, temporaryOf } from "./temporary.ts";
import { trialWords } from "./wrap.ts";

/** Bytes that stay free on a disk: 512 MiB. */
const DISK_FREE = 536_870_912;

/** A sandbox that was tried. */
export type Ready =
  | {
      readonly works: true;
      readonly missing: readonly string[];
      readonly temporary: readonly Temporary[];
      /** Starts a command in it. Rejects with a `ToolFailure` when it cannot be started. */
      spawn(command: Command, needs: Needs): Promise<Process>;
      close(): Promise<void>;
    }
  | Extract<SandboxState, { works: false }>;

type Prepared = SandboxOptions & Required<Pick<SandboxOptions, "hidden" | "writable">>;

/** Finds out what works here, and makes what all commands share. Never rejects. */
export async function prepare(inner: Backend, options: Prepared, base: Homes): Promise<Ready> {
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
  {
    folder,
    writable,
    hidden,
    isProtected = () => false,
    isSensitive = () => false,
    network,
    limits: limitSettings = {},
  }: Prepared,
  base: Homes,
): Promise<Ready> {
  const session = openSession(realOf(folder));
  const caches = privateCaches({ folder: realOf(folder), ...base });
  const filter = seccompFilter();
  const filterFile = join(session.folder, "filter");
  const watcherFile = join(session.folder, "watcher");
  writeFileSync(filterFile, filter ?? "", { mode: 0o600 });
  writeFileSync(watcherFile, WATCHER, { mode: 0o600 });
  const changes = folderChanges(join(session.folder, "changes"));
  const factsFor = factFinder({
    ...base,
    writable,
    hidden,
    isProtected,
    isSensitive,
    caches: caches.folder,
    tmp: session.tmp,
    varTmp: session.varTmp,
    changes,
  });
  const [limits, room] = await Promise.all([createLimits(limitSettings), openNetworkRoom()]);
  const { diskFree = DISK_FREE } = limitSettings;
  const { settle } = changes;
  const files = { filterFile, watcherFile };
  const shop = { inner, program, session, caches, limits, room, network, diskFree, ...files, settle, factsFor };
  const close = async () => {
    changes.close();
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
  const found = { ...shop, features: probed.features };
  return {
    works: true,
    missing,
    temporary: temporaryOf(session),
    spawn: (command, needs) => spawnContained(command, needs, found),
    close,
  };
}
