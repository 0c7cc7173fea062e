import type { ActivityEvent, CallEvent, Store } from "../../core/contract/activity.ts";
import type { Backend, Exit, OpenFile } from "../../core/contract/backend.ts";
import type { Alarms, Refusal } from "../../core/contract/containment.ts";
import { ToolFailure } from "../../core/contract/failure.ts";
import type { CallId, ThreadId } from "../../core/contract/identity.ts";
import type { Job, JobEnd, Jobs, Notices } from "../../core/contract/job.ts";
import { describeExit } from "../../core/output/describe-exit.ts";
import { describeRefusals } from "../../core/output/describe-refusals.ts";
import { logFile } from "../../core/output/log-file.ts";
import { formatSize } from "../../core/output/size.ts";
import { messageOf, tried } from "../../core/util/errors.ts";
import { clip, plural } from "../../core/util/text.ts";
import { createJobTails } from "./job-tails.ts";
import { openPort } from "./open-port.ts";

/** The maximum number of jobs at once. More are a mistake, such as a model that starts one server again and again. */
const MOST_RUNNING = 32;
/** How many ended jobs keep their output. */
const MOST_ENDED = 32;

const NO_NOTICES: readonly string[] = [];

const CLOSED = "the toolkit is closed: no job can be started any more";

type StartedBy = Parameters<Jobs["start"]>[2];

export interface JobsOptions {
  readonly backend: Pick<Backend, "spawn" | "detached">;
  readonly store: Pick<Store, "append">;
  /** The first letters of every job's id. Default: none. */
  readonly idPrefix?: string;
  /** "call": the toolkit is closed after one call, so only detached jobs can be started. Default "toolkit". */
  readonly lifetime?: "call" | "toolkit";
  /** How many bytes of ended jobs' output are kept, besides the last job's, which is kept whole. Default 1 GiB. */
  readonly mostEndedBytes?: number;
  /** Counts the sandbox's refusals to jobs. */
  readonly alarms?: Alarms;
}

/** The jobs of a toolkit, their notices, and their outputs as files. */
export interface JobManager extends Jobs {
  readonly notices: Notices;
  /**
   * Returns the output of job 3 for the id "job-3", and its separate stderr for "job-3-errors". `undefined` for other
   * ids.
   */
  openOutput(id: string): Promise<OpenFile | undefined>;
  /** Stops a job of this call; does nothing when the job does not exist. */
  stop(call: CallId, job: string): void;
  /** Records the last lines of a job of this call for a while; does nothing when the job does not exist. */
  watch(job: string, by: Pick<CallEvent, "call" | "thread">): void;
  /** Opens a port of a job of this call for a person, and records the answer; does nothing for an unknown job. */
  open(job: string, port: number, by: Pick<CallEvent, "call" | "thread">): void;
  /** Stops all jobs except detached ones, and releases their output. Never rejects. */
  close(): Promise<void>;
}

/** Manages background commands: starts them, waits for their end, and records both. */
export function createJobs({
  backend,
  store,
  idPrefix = "",
  lifetime: longest = "toolkit",
  mostEndedBytes = 1_073_741_824,
  alarms,
}: JobsOptions): JobManager {
  const jobs = new Map<string, Job>();
  const hearers = createHearers();
  let started = 0;
  /** Detached processes that are not in the list yet. */
  let starting = 0;
  let closed = false;

  // The call reports that nothing is recorded; its job is not affected.
  const record = (event: ActivityEvent): void => tried(() => store.append(event));
  const tails = createJobTails(record);

  const dropOldest = () => {
    const ended = [...jobs.values()].filter((job) => job.ended !== undefined).toReversed();
    let bytes = 0;
    for (const [index, { id, lifetime, process }] of ended.entries()) {
      // The output of other toolkits' jobs is kept.
      if (lifetime !== "detached") bytes += process.output.kept + (process.errors?.kept ?? 0);
      if (index === 0 || (index < MOST_ENDED && bytes <= mostEndedBytes)) continue;
      jobs.delete(id);
      void process.output.dispose();
      void process.errors?.dispose();
    }
  };

  const all = async (): Promise<readonly Job[]> => {
    for (const { id, label, startedMs, ended, endedMs, process } of (await backend.detached?.list()) ?? []) {
      if (jobs.has(id)) continue;
      const end = ended === undefined ? undefined : { exit: ended, atMs: endedMs ?? Date.now() };
      jobs.set(id, watched({ id, command: label, startedMs, lifetime: "detached", process }, end));
    }
    return [...jobs.values()];
  };

  const requireRoom = () => {
    const running = [...jobs.values()].filter((job) => job.ended === undefined);
    if (running.length + starting < MOST_RUNNING) return;
    throw new ToolFailure(`${plural(running.length + starting, "job")} are running, which is the limit`, {
      hint: `Stop one first: ${running.map(({ id }) => id).join(", ")}.`,
    });
  };

  /** Registers a job: records its start and end, and adds the notice of its end. */
  const kept = (facts: Omit<Job, "ended">, { call, thread }: StartedBy): Job => {
    const job = watched({ ...facts, call });
    const { id, lifetime, command, process } = job;
    jobs.set(id, job);
    hearers.add(id, thread);
    record({ type: "job.started", call, thread, at: job.startedMs, job: id, command: clip(command, 4_096), lifetime });
    const finish = (exit: Exit, refusals: readonly Refusal[]) => {
      if (closed && lifetime === "detached") return; // a later toolkit records the job's end
      if (refusals.length > 0) {
        record({ type: "sandbox.refused", call, thread, at: Date.now(), job: id, refusals });
        const alarm = alarms?.(refusals);
        if (alarm !== undefined) record({ type: "sandbox.alarmed", call, thread, at: Date.now(), ...alarm });
      }
      record({ type: "job.ended", call, thread, at: Date.now(), job: id, exit });
      hearers.ended(id, thread, endNotice(job, exit, refusals));
      dropOldest();
    };
    const { exit, refusals } = process;
    if (refusals === undefined) void exit.then((how) => finish(how, []));
    else void Promise.all([exit, refusals]).then(([how, refused]) => finish(how, refused));
    return job;
  };

  return {
    async start(command, script, by) {
      if (closed) throw new ToolFailure(CLOSED);
      const { lifetime } = command;
      const isDetached = lifetime === "detached";
      if (longest === "call" && !isDetached) throw endsWithItsCall();
      if (isDetached && backend.detached === undefined)
        throw new ToolFailure("this backend cannot keep a process that outlives it", { hint: "Start it as a job." });
      requireRoom();
      starting++;
      const process = await backend.spawn(command).finally(() => starting--);
      const id = isDetached ? process.id : `${idPrefix}${++started}`;
      const job = kept({ id, command: script, startedMs: Date.now(), lifetime, process }, by);
      if (closed && !isDetached) await process.kill(); // the toolkit was closed meanwhile
      return job;
    },
    async adopt(process, script, by) {
      if (closed) throw new ToolFailure(CLOSED);
      if (longest === "call") throw new ToolFailure("this process ends with the one call of this command");
      requireRoom();
      const { startedMs } = by;
      return kept({ id: `${idPrefix}${++started}`, command: script, startedMs, lifetime: "toolkit", process }, by);
    },
    list: all,
    get: async (id) => jobs.get(id) ?? (await all()).find((job) => job.id === id),
    told: hearers.forget,
    handOver: (from, to) => hearers.handOver(from, to).flatMap((id) => jobs.get(id) ?? []),
    async reachPort(of, port) {
      for (const id of hearers.runningOf(of)) {
        const { process } = jobs.get(id) ?? {};
        const address = await process?.reachPort?.(port).catch(() => undefined);
        if (address !== undefined) return address;
      }
      return undefined;
    },
    notices: hearers,
    async openOutput(id) {
      const [, number, errors] = /^job-(\w+)(-errors)?$/.exec(id) ?? [];
      const job =
        number === undefined ? undefined : (jobs.get(number) ?? (await all()).find((each) => each.id === number));
      const log = errors === undefined ? job?.process.output : job?.process.errors;
      return job === undefined || log === undefined ? undefined : logFile(log, `output://${id}`, job.startedMs);
    },
    stop(call, id) {
      const job = jobs.get(id);
      if (job !== undefined && job.call === call) void job.process.kill();
    },
    watch(id, by) {
      const job = jobs.get(id);
      if (job !== undefined && job.call === by.call) tails.watch(job, by);
    },
    open(id, port, { call, thread }) {
      const job = jobs.get(id);
      if (job === undefined || job.call !== call) return;
      const answer = (how: { readonly url: string } | { readonly problem: string }) =>
        record({ type: "port.opened", call, thread, at: Date.now(), job: id, port, ...how });
      openPort(job, port).then(
        (url) => answer({ url }),
        (error: unknown) => answer({ problem: messageOf(error) }),
      );
    },
    async close() {
      closed = true;
      tails.close();
      await Promise.all(
        [...jobs.values()].map(async ({ lifetime, process }) => {
          if (lifetime !== "detached") await process.kill();
          await Promise.all([process.output.dispose(), process.errors?.dispose()]);
        }),
      );
    },
  };
}

function endsWithItsCall(): ToolFailure {
  return new ToolFailure("a job of this command would end with the one call that it makes", {
    hint:
      'Start it with "detached": true (`handrail jobs` shows and stops it), or use a longer session, such as ' +
      "`handrail mcp`.",
  });
}

/** The threads to which the ends of jobs are reported, and what was not reported to them yet. */
function createHearers() {
  const notices: { readonly thread: ThreadId; readonly job: string; readonly text: string }[] = [];
  /** The thread of each running job. */
  const threads = new Map<string, ThreadId>();
  const forget = (job: string) => {
    for (let index = notices.length - 1; index >= 0; index--) if (notices[index]?.job === job) notices.splice(index, 1);
  };
  const runningOf = (of: ThreadId) => [...threads].filter(([, thread]) => thread === of).map(([id]) => id);
  return {
    add: (job: string, thread: ThreadId) => void threads.set(job, thread),
    ended(job: string, starter: ThreadId, text: string) {
      notices.push({ thread: threads.get(job) ?? starter, job, text });
      threads.delete(job);
    },
    forget,
    /** The running jobs whose ends a thread gets. */
    runningOf,
    /** Makes another thread get what one thread gets. Returns the running jobs. */
    handOver(from: ThreadId, to: ThreadId): readonly string[] {
      for (const [index, notice] of notices.entries())
        if (notice.thread === from) notices[index] = { ...notice, thread: to };
      const running = runningOf(from);
      for (const id of running) threads.set(id, to);
      return running;
    },
    take(thread: ThreadId): readonly string[] {
      if (notices.length === 0) return NO_NOTICES; // this runs at every call
      const told = notices.filter((notice) => notice.thread === thread);
      for (const { job } of told) forget(job);
      return told.map(({ text }) => text);
    },
  };
}

/** Adds a job's end to the job. It may be an earlier end. */
function watched(job: Omit<Job, "ended">, earlier?: JobEnd): Job {
  let ended = earlier;
  if (earlier === undefined) void job.process.exit.then((exit) => (ended = { exit, atMs: Date.now() }));
  return {
    ...job,
    get ended() {
      return ended;
    },
  };
}

function endNotice({ id, command, startedMs, process }: Job, exit: Exit, refusals: readonly Refusal[]): string {
  const seconds = ((Date.now() - startedMs) / 1_000).toFixed(1);
  const { size } = process.errors ?? { size: 0 };
  const ofErrors = size === 0 ? "" : ` and ${formatSize(size)} of errors in output://job-${id}-errors`;
  const ended =
    `Job ${id} has ended: ${clip(command.replaceAll(/\s+/g, " "), 80)}. ${describeExit(exit)} after ${seconds} ` +
    `s, ${formatSize(process.output.size)} of output in output://job-${id}${ofErrors}`;
  return refusals.length === 0 ? ended : `${ended}. ${describeRefusals(refusals)}`;
}
