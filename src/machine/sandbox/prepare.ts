import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { realOf } from "../git/disk.ts";
import type { Backend, Command, Process } from "../../core/contract/backend.ts";
import type { SandboxAccess, SandboxState } from "../../core/contract/containment.ts";
import { within } from "../../core/util/abort.ts";
import { messageOf } from "../../core/util/errors.ts";
import { absolutePath, isInside } from "../../core/util/paths.ts";
import { spawner } from "../spawner/connection.ts";
import { ALL_FEATURES } from "./wrap/bubblewrap.ts";
import { DEFAULT_CACHE_BYTES } from "./session/cache-cap.ts";
import { privateCaches } from "./session/caches.ts";
import { spawnContained } from "./wrap/contained.ts";
import { readySandboxes } from "./wrap/ready.ts";
import { WATCHER } from "./wrap/exit-status.ts";
import { NOT_INSTALLED, explained, impossible, thisMachine } from "./wrap/unavailable.ts";
import { factFinder, holdBackLeft } from "./mounts/facts.ts";
import { folderChanges } from "./mounts/folder-changes.ts";
import { type Homes } from "./mounts/hidden.ts";
import { PATIENCE_MS, protectedFinder } from "./mounts/protected.ts";
import { thisDisk } from "./mounts/this-disk.ts";
import { createLimits } from "./limits/limits.ts";
import { openSharedNetwork } from "./egress/shared-network.ts";
import type { SandboxOptions } from "./options.ts";
import { keptProbe } from "./wrap/kept-probe.ts";
import { type Probed, missingOf, probe } from "./wrap/probe.ts";
import { systemProgram } from "./programs.ts";
import { seccompFilter } from "./wrap/seccomp/filter.ts";
import { openSession } from "./session/session.ts";
import { type Temporary, temporaryOf } from "./session/temporary.ts";
import { trialWords } from "./wrap/wrap.ts";

/** Bytes that stay free on a disk: 512 MiB. */
const DISK_FREE = 536_870_912;

/** The result of testing the sandbox. */
export type Ready =
  | {
      readonly works: true;
      readonly missing: readonly string[];
      readonly temporary: readonly Temporary[];
      /** Starts a command in a sandbox. Rejects with a `ToolFailure` when it cannot be started. */
      spawn(command: Command, access: SandboxAccess): Promise<Process>;
      /** Ends the sandboxes that wait for commands. No other is set up. */
      endReady(): Promise<void>;
      close(): Promise<void>;
    }
  | Extract<SandboxState, { works: false }>;

type Prepared = SandboxOptions & Required<Pick<SandboxOptions, "hidden" | "writable">>;

/** Tests what works here, and creates what all commands share. Never rejects. */
export async function prepare(inner: Backend, options: Prepared, base: Homes): Promise<Ready> {
  const machine = thisMachine();
  const problem = impossible(machine, base.workDir);
  if (problem !== undefined) return problem;
  const program = systemProgram("bwrap");
  // A bwrap in a writable folder does not count: a command could have put it there.
  if (program === undefined || [base.workDir, ...options.writable].some((root) => isInside(realOf(program), root)))
    return NOT_INSTALLED;
  try {
    return await furnish(inner, program, options, base);
  } catch (error) {
    return {
      works: false,
      reason: `The sandbox's own files could not be created in ${options.folder}: ${messageOf(error)}.`,
      fix: "Check that the state folder is writable and its disk is not full.",
    };
  }
}

async function furnish(inner: Backend, program: string, options: Prepared, base: Homes): Promise<Ready> {
  const { folder, writable, hidden, network, limits: limitSettings = {} } = options;
  const { isProtected = () => false, isSensitive = () => false } = options;
  const session = openSession(realOf(folder), holdBackLeft);
  const caches = privateCaches({ folder: realOf(folder), ...base });
  const filter = seccompFilter();
  const filterFile = join(session.folder, "filter");
  const watcherFile = join(session.folder, "watcher");
  writeFileSync(filterFile, filter ?? "", { mode: 0o600 });
  writeFileSync(watcherFile, WATCHER, { mode: 0o600 });
  const changes = folderChanges(join(session.folder, "changes"));
  const finder = protectedFinder(isProtected, { ...options.search, isSensitive, changes });
  const roots = [base.workDir, ...writable.map((path) => realOf(absolutePath(path, base)))];
  const searched = Promise.all([session.swept, ...roots.map(finder.readWhole)]);
  const readPackages = async () => void (await Promise.all(roots.map(finder.readPackages)));
  const given = { writable, hidden, isProtected, disk: thisDisk(finder), temporary: temporaryOf(session) };
  const factsFor = factFinder({ ...base, ...given, caches: caches.folder });
  void spawner().catch(() => undefined); // starts meanwhile, which takes as long; the probe reports a failure
  const [limits, sharedNetwork, isSearched] = await Promise.all([
    createLimits(limitSettings),
    options.oneCommand === true ? undefined : openSharedNetwork(),
    within(
      options.search?.patienceMs ?? PATIENCE_MS,
      searched.then(() => true),
    ),
  ]);
  const { diskFree = DISK_FREE } = limitSettings;
  const { outputs } = options;
  const first = { ...ALL_FEATURES, filter: filter !== undefined };
  const kept = keptProbe(realOf(folder), program, first);
  const shared = { session, caches, limits, sharedNetwork, filterFile, watcherFile, outputs, failed: kept.forget };
  const context = { ...shared, inner, program, network, diskFree, settle: changes.settle, readPackages, factsFor };
  if (options.oneCommand !== true) void caches.use.cap(limitSettings.caches ?? DEFAULT_CACHE_BYTES);
  const close = async () => {
    finder.close();
    changes.close();
    caches.use.end();
    await limits.close();
    await sharedNetwork?.close();
    await session.close();
  };
  const known = kept.read();
  const probed: Probed =
    known === undefined
      ? await probe(inner, (features) => trialWords(context, features, ["true"]), first)
      : { works: true, features: known };
  if (!probed.works) {
    await close();
    return explained(probed.output, thisMachine());
  }
  if (known === undefined) kept.keep(probed.features);
  const missing = [
    ...missingOf(probed.features),
    ...(sharedNetwork === undefined && options.oneCommand !== true
      ? ["A server in one command cannot be reached from another: no shared network can be created here."]
      : []),
    ...limits.missing,
  ];
  const found = { ...context, features: probed.features };
  const ahead = options.oneCommand === true ? undefined : readySandboxes(found);
  if (isSearched === undefined) void searched.then(() => ahead?.renew());
  return {
    works: true,
    missing,
    temporary: temporaryOf(session),
    spawn: (command, access) => spawnContained(command, access, found, ahead),
    endReady: async () => ahead?.close(),
    close,
  };
}
