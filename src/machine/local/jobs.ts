import { closeSync, constants, openSync, readdirSync, statSync } from "node:fs";
import { type FileHandle, open, readFile, readdir, rename, rm, rmdir, writeFile } from "node:fs/promises";
import { Socket } from "node:net";
import { join, resolve } from "node:path";
import type { DetachedProcesses } from "../../core/contract/backend.ts";
import type { Env } from "../../core/contract/effect.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { JobCommand } from "../../core/contract/job.ts";
import { onAbort } from "../../core/util/abort.ts";
import { messageOf, tried } from "../../core/util/errors.ts";
import { makePrivateFolder, readRange } from "../../core/util/private-file.ts";
import {
  type FoundJob,
  type JobPlan,
  KEPT_MS,
  detachedProcesses,
  foundJob,
  parsePlan,
  planJob,
} from "../process/detached.ts";
import { type JobFolder, type JobHandle, runJob } from "../process/folder.ts";
import { type JobStatus, parseNotes, removedStatus } from "../process/status.ts";
import { programOf, startFailure } from "./spawn.ts";
import { spawner } from "../spawner/connection.ts";
import { startOf } from "../spawner/process-start.ts";

/** The longest pause between two checks of a job, in milliseconds. */
const LONGEST_WAIT_MS = 250;

export interface StartJobOptions {
  /** The folder that contains the folders of jobs. */
  readonly folder: string;
  readonly cwd: string;
  readonly env: Env;
  /** The beginning of the mark of a job with the lifetime "toolkit". */
  readonly lease: string;
}

/**
 * Starts a process that outlives its call. The spawner watches it, and its folder contains its whole state. A job with
 * a lease is ended by the spawner when this process has ended, or by this process when the spawner has.
 *
 * @throws ToolFailure when it cannot be started.
 */
export async function startJob(command: JobCommand, options: StartJobOptions): Promise<JobHandle> {
  const { argv, lifetime, stdin } = command;
  const { folder, cwd, env } = options;
  const isLeased = lifetime === "toolkit";
  const lease = isLeased ? options.lease : undefined;
  const { name, plan } = planJob(command, { cwd, lease });
  const { mark } = plan;
  const own = resolve(folder, name); // the spawner has another working directory
  const service = await spawner();
  const job = await runJob(lifetime, command, async () => {
    try {
      await makePrivateFolder(own);
      for (const file of ["out", "running", "filling"]) closeSync(openSync(join(own, file), "a", 0o600));
      const kept: JobPlan = isLeased ? { ...plan, owner: { pid: process.pid, start: startOf(process.pid) } } : plan;
      await writeFile(join(own, "job"), JSON.stringify(kept), { mode: 0o600 });
      const pid = await service.startJob({
        ...{ argv, program: programOf(argv[0], env, cwd), cwd, env, mark, job: own, stdout: join(own, "pipe") },
        ...(lease !== undefined && { lease }),
        ...(stdin === "pipe" && { stdin: join(own, "in") }),
      });
      return { id: isLeased ? String(pid) : name, folder: jobFolder(own, mark, pid) };
    } catch (error) {
      await service.sweep({ mark }); // if the job already runs, nothing else would end it
      await removeFolder(own).catch(() => undefined);
      throw startFailure(error, argv[0], cwd);
    }
  });
  if (isLeased) void service.died.then(() => job.process.kill());
  return job;
}

/** The detached processes whose folders are in `folder`. */
export function detachedIn(folder: string, now?: () => number): DetachedProcesses {
  return detachedProcesses(async (id) => {
    const names = id === undefined ? await readdir(folder).catch(() => []) : [id];
    const found = await Promise.all(names.map((name) => foundIn(folder, name)));
    return found.filter((each) => each !== undefined);
  }, now);
}

/** Removes ended jobs that are a week old or lost their lease. `folder` has one folder per owner. Never rejects. */
export async function removeOldJobs(folder: string): Promise<void> {
  for (const owner of await readdir(folder).catch(() => [])) {
    const own = join(folder, owner);
    await detachedIn(own)
      .list() // listing removes old jobs
      .catch(() => []);
    await rmdir(own).catch(() => undefined); // fails if the folder is not empty
  }
}

/** `undefined` unless the folder has a started job without a lease. Ends and removes the jobs of a dead owner. */
async function foundIn(folder: string, name: string): Promise<FoundJob | undefined> {
  const own = join(folder, name);
  const plan = parsePlan(await readFile(join(own, "job"), "utf8").catch(() => ""));
  const { pid } = plan === undefined ? {} : parseNotes(await readdir(own).catch(() => []));
  if (plan === undefined || pid === undefined) return undefined;
  const { mark, owner } = plan;
  if (owner === undefined) return foundJob(plan, { id: name, folder: jobFolder(own, mark, pid) });
  if (lives(owner)) return undefined;
  const isRunning = statusIn(own).state === "running";
  if (isRunning) await (await spawner()).sweep({ mark, group: pid });
  // An owner in another container is not visible, nor are its processes. What may belong to one is kept for a week.
  if (isRunning || Date.now() - plan.startedMs > KEPT_MS) await removeFolder(own);
  return undefined;
}

/** The job's watcher may write a last note meanwhile: then Node tries again. */
async function removeFolder(own: string): Promise<void> {
  await rm(own, { recursive: true, force: true, maxRetries: 5 });
}

function jobFolder(own: string, mark: string, pid: number): JobFolder {
  return {
    longestWaitMs: LONGEST_WAIT_MS,
    look: async () => statusIn(own),
    keptNow: () => sizeOf(join(own, "out")),
    async read(start, end) {
      let file: FileHandle | undefined;
      try {
        file = await open(join(own, "out"));
        const { size } = await file.stat();
        return await readRange(file, start, Math.max(0, Math.min(end, size) - start));
      } catch (error) {
        throw new ToolFailure(`the file of this output could not be read: ${messageOf(error)}`, { cause: error });
      } finally {
        await file?.close();
      }
    },
    write: (text, ended) => writeTo(join(own, "in"), text, ended),
    async endInput(holder) {
      await rm(join(own, `holder-${holder}`), { force: true });
      process.kill(holder);
    },
    // Ends the job by its PID too: a process that changed its user hides its mark.
    end: async () => (await spawner()).sweep({ mark, group: pid }),
    noteLost: () => rename(join(own, "running"), join(own, `exited-lost-${Date.now() / 1_000}`)),
    remove: () => removeFolder(own),
  };
}

function statusIn(own: string): JobStatus {
  const names = tried(() => readdirSync(own));
  if (names === undefined) return removedStatus();
  const { pid = 0, start, ended, ...notes } = parseNotes(names);
  return { state: ended ?? (lives({ pid, start }) ? "running" : "gone"), kept: sizeOf(join(own, "out")), ...notes };
}

function lives({ pid, start }: { readonly pid: number; readonly start: string }): boolean {
  return start !== "" && startOf(pid) === start;
}

function sizeOf(path: string): number {
  return tried(() => statSync(path).size) ?? 0; // reading reports the error
}

/** Opens the FIFO for each text: an open end would keep stdin from ending. */
function writeTo(fifo: string, text: string, ended: AbortSignal): Promise<void> {
  return new Promise((taken, reject) => {
    const fd = openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    const writer = new Socket({ fd, readable: false, writable: true });
    const release = onAbort(ended, () => writer.destroy(new Error("it has ended")));
    writer.once("error", reject).once("finish", taken).once("close", release).end(text);
  });
}
