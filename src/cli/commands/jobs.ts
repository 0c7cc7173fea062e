import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { detachedIn } from "../../machine/local/jobs.ts";
import { stateFolder } from "../../app/config/state.ts";
import type { DetachedProcess, DetachedProcesses } from "../../core/contract/backend.ts";
import type { Store } from "../../core/contract/activity.ts";
import type { RecordedJob } from "../../core/contract/job.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import { requestPort } from "../../record/activity/open-port.ts";
import { describeExit } from "../../core/output/describe-exit.ts";
import { formatSize } from "../../core/output/size.ts";
import { messageOf } from "../../core/util/errors.ts";
import { oneLine, terminalSafe } from "../../core/output/terminal-text.ts";
import { jobsFolder } from "../../app/config/state.ts";
import { createToolkit } from "../../app/toolkit.ts";
import type { GlobalOptions } from "../options.ts";
import { settingsFrom, toolkitOptions, withStore } from "../settings.ts";
import { untilStopped } from "../signals.ts";
import { note, say, stream, write } from "../say.ts";
import type { Io } from "../io.ts";

type Options = GlobalOptions & { readonly follow?: boolean };

/** The commands of `handrail jobs`. */
export const run = {
  list: (options: Options) => jobs("list", undefined, options),
  output: (id: string, options: Options) => jobs("output", id, options),
  kill: (id: string, options: Options) => jobs("kill", id, options),
  remove: (id: string, options: Options) => jobs("remove", id, options),
  open: openJobPort,
};

/** What people can do with jobs, whichever process started them. */
type JobsAction = "list" | "output" | "kill" | "remove";

interface Found {
  readonly job: DetachedProcess;
  readonly kept: DetachedProcesses;
}

/**
 * Lists, shows, stops or removes jobs: the detached jobs of this machine (or of the named target), and the jobs of
 * other processes, of which the last lines are shown. `follow` prints the output of a detached job until it ends. Only
 * a detached job that has ended can be removed.
 *
 * @throws ToolFailure when there is no such job.
 */
async function jobs(
  action: JobsAction,
  id: string | undefined,
  { follow = false, ...options }: GlobalOptions & { readonly follow?: boolean },
): Promise<void> {
  if (options.target === undefined) return localJobs(action, id, follow, options);
  const toolkit = await createToolkit({ ...(await toolkitOptions(options)), preset: "none" });
  try {
    const { detached } = toolkit.backend;
    const all = detached === undefined ? [] : (await detached.list()).map((job): Found => ({ job, kept: detached }));
    await jobsOf(options.io, all, action, id, follow);
  } finally {
    await toolkit.close();
  }
}

/** Jobs of other processes are read from the store. A store that is not shared between processes has none. */
async function localJobs(
  action: JobsAction,
  id: string | undefined,
  follow: boolean,
  options: GlobalOptions,
): Promise<void> {
  const { store: kind } = await settingsFrom(options);
  const detached = await allJobs(options.io);
  if (kind === "memory" || detached.some(({ job }) => job.id === id)) {
    return jobsOf(options.io, detached, action, id, follow);
  }
  await withStore(options, async (store) => {
    const recorded = await store.jobs().catch((error: unknown) => {
      note(options.io, `handrail: jobs of other processes are not shown: ${messageOf(error)}`);
      return [];
    });
    const others = recorded.filter((job) => job.lifetime !== "detached");
    const found = others.find((job) => String(job.id) === id);
    if (found !== undefined) return ofOtherProcess(options.io, store, found, follow ? "follow" : action);
    const shown = others.filter(({ ended }) => ended === undefined || ended.atMs > Date.now() - DAY_MS);
    if (action !== "list" || shown.length === 0 || detached.length > 0)
      await jobsOf(options.io, detached, action, id, follow);
    if (action !== "list") return;
    for (const { id: number, command, startedMs, ended } of shown) {
      const state = ended === undefined ? `running for ${age(startedMs)}` : describeExit(ended.exit);
      say(options.io, `${number}  ${state}, in another process  ${oneLine(command, 80)}`);
    }
  });
}

/** Jobs of other processes that ended longer ago are not listed. Milliseconds. */
const DAY_MS = 86_400_000;

/** How long a job may take to end after it was stopped: TERM, two seconds, KILL. Milliseconds. */
const STOPPING_MS = 10_000;

/** How long another process may take to record the last lines of its job, in milliseconds. */
const ANSWER_MS = 10_000;

async function ofOtherProcess(io: Io, store: Store, found: RecordedJob, action: JobsAction | "follow") {
  const { id, call, job, thread, ended } = found;
  if (ended !== undefined) throw new ToolFailure(`job ${id} has ended: ${describeExit(ended.exit)}`);
  if (action === "output") return lastLines(io, store, found);
  if (action !== "kill") {
    throw new ToolFailure(`job ${id} belongs to another running process, which has its output`, {
      hint: `\`handrail jobs output ${id}\` prints its last lines, \`handrail jobs kill ${id}\` stops it.`,
    });
  }
  await store.commit({ type: "stop.requested", call, thread, at: Date.now(), by: "handrail jobs", job });
  const signal = AbortSignal.timeout(STOPPING_MS);
  for await (const event of store.events({ call, types: ["job.ended"], follow: true, signal })) {
    if (event.type === "job.ended" && event.job === job) return say(io, `${id} has ended`);
  }
  throw new ToolFailure(`job ${id} was asked to end, but still runs after ${STOPPING_MS / 1_000} s`);
}

/**
 * Opens a port of a job that runs in the sandbox of any process, and prints the address for a browser.
 *
 * @throws ToolFailure
 */
async function openJobPort(id: string, port: string, options: GlobalOptions): Promise<void> {
  await withStore(options, async (store) => {
    const found = (await store.jobs()).find((job) => String(job.id) === id);
    if (found === undefined) throw new ToolFailure(`there is no job ${id}`, { hint: "`handrail jobs` lists them." });
    say(options.io, await requestPort(store, found, Number(port), "handrail jobs"));
  });
}

async function lastLines(io: Io, store: Store, { id, call, job, thread }: RecordedJob): Promise<void> {
  const asked = Date.now();
  await store.commit({ type: "job.watched", call, thread, at: asked, by: "handrail jobs", job });
  const signal = AbortSignal.timeout(ANSWER_MS);
  for await (const event of store.events({ call, types: ["job.output"], follow: true, signal })) {
    if (event.type !== "job.output" || event.job !== job || event.at < asked) continue;
    stream(io, event.text);
    return;
  }
  throw new ToolFailure(`the process that has job ${id} did not answer within ${ANSWER_MS / 1_000} s`);
}

async function jobsOf(
  io: Io,
  all: readonly Found[],
  action: JobsAction,
  id: string | undefined,
  follow: boolean,
): Promise<void> {
  if (action === "list") return list(io, all);
  const found = all.find(({ job }) => job.id === id);
  if (found === undefined) {
    const known = all.map(({ job }) => job.id).join(", ");
    throw new ToolFailure(`there is no job ${id}`, {
      hint: known === "" ? "There are no detached ones." : `Detached: ${known}.`,
    });
  }
  switch (action) {
    case "output":
      return output(io, found.job, follow);
    case "kill":
      await stop(found);
      return say(io, `${found.job.id} has ended`);
    case "remove":
      await found.kept.remove(found.job.id);
      return say(io, `${found.job.id} is removed`);
  }
}

async function stop({ job: { id, process: running }, kept }: Found): Promise<void> {
  await running.kill();
  const job = (await kept.list()).find((each) => each.id === id);
  if (job === undefined || job.ended !== undefined) return;
  throw new ToolFailure(`${id} did not end: ${describeExit(await running.exit)}`);
}

/** The detached jobs of this machine, the oldest first. */
export async function allJobs(io: Io): Promise<readonly Found[]> {
  const folder = jobsFolder(stateFolder(io.env));
  const owners = await readdir(folder).catch(() => []);
  const lists = await Promise.all(
    owners.map(async (owner) => {
      const kept = detachedIn(join(folder, owner));
      return (await kept.list()).map((job): Found => ({ job, kept }));
    }),
  );
  return lists.flat().toSorted((one, other) => one.job.startedMs - other.job.startedMs);
}

function list(io: Io, all: readonly Found[]): void {
  if (all.length === 0) return say(io, "(no detached jobs)");
  for (const { job } of all) {
    const state = job.ended === undefined ? `running for ${age(job.startedMs)}` : describeExit(job.ended);
    say(
      io,
      `${job.id}  ${state}, ${formatSize(job.process.output.size)} of output  ${oneLine(job.label, 80)}  (in ` +
        `${oneLine(job.cwd, 60)})`,
    );
  }
}

async function output(io: Io, { process: { output: log } }: DetachedProcess, follow: boolean): Promise<void> {
  const stopped = untilStopped(io);
  // Output is made safe for a terminal. A file or a pipe gets the bytes unchanged.
  const show = (bytes: Uint8Array) =>
    write(io, io.stdout.isTTY ? terminalSafe(Buffer.from(bytes).toString("utf8")) : bytes);
  try {
    if (follow) {
      for await (const chunk of log.follow(stopped.signal)) await show(chunk);
      return;
    }
    const end = log.kept;
    for (let at = 0; at < end && !stopped.signal.aborted; at += 65_536)
      await show(await log.read(at, Math.min(end, at + 65_536)));
  } finally {
    stopped.release();
  }
}

function age(startedMs: number): string {
  const seconds = Math.floor((Date.now() - startedMs) / 1_000);
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
}
